// Goes every way between JavaScript and native code a few times, with the addon that process.argv[2] names.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { packageWith } from './with-addon.mjs'

const { createOpenAICompatibleAdapter, createSession, InMemoryStorageAdapter, SqliteStorageAdapter } = await packageWith(process.argv[2] ?? '')

const server = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (chunk) => (body += chunk))
  request.on('end', () => {
    const event = (/** @type {object} */ delta, /** @type {string | null} */ reason) => `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`
    if (JSON.parse(body).stream === true) response.end(`${event({ content: '日本 🎉' }, null)}${event({}, 'stop')}data: [DONE]\n\n`)
    else response.end(JSON.stringify({ choices: [{ message: { content: 'answer' }, finish_reason: 'stop' }] }))
  })
})
await once(server.listen(0, '127.0.0.1'), 'listening')
const baseURL = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}/v1`
const native = createOpenAICompatibleAdapter({ baseURL, model: 'm', apiKey: '', maxContextTokens: 1000 })
const javaScript = {
  maxContextTokens: 1000,
  complete: async () => ({ content: 'Grüße \uD83C' }),
  async *stream() {
    yield { delta: 'a' }
    yield { delta: '🎉' }
  },
}

function javaScriptStorage() {
  const sessions = new Map()
  const records = new Map()
  return /** @type {any} */ ({
    getSession: (/** @type {string} */ id) => sessions.get(id),
    putSession: (/** @type {any} */ meta) => void sessions.set(meta.id, meta),
    getSystemPrompt: () => null,
    getInsight: () => null,
    getMemory: () => null,
    listRecords: (/** @type {string} */ id) => records.get(id) ?? [],
    appendRecord: (/** @type {string} */ id, /** @type {any} */ record) => void records.set(id, [...(records.get(id) ?? []), record]),
  })
}

for (const storage of [new InMemoryStorageAdapter(), new SqliteStorageAdapter({ path: ':memory:' }), javaScriptStorage()]) {
  for (const llm of [native, javaScript]) {
    const session = await createSession({ storage, llm, compressFn: async () => 'summary', label: '标签 \uD83C' })
    for (let turn = 0; turn < 4; turn++) {
      await session.send('é '.repeat(200))
      for await (const _ of session.stream('日本'.repeat(100)));
    }
    await session.messages()
    const child = await session.fork({ label: 'child', context: (records) => records })
    const controller = new AbortController()
    const aborted = child.send('never', { signal: controller.signal })
    controller.abort()
    await aborted.catch(() => {})
    await storage.transaction?.((/** @type {any} */ tx) => tx.putInsight(session.meta.id, 'insight'))
  }
}
server.closeAllConnections()
server.close()
console.log('done')

// @ts-check
// Process CPU of a turn against that of a loop in Rust that only posts the same bytes:
// node bench/bare.mjs MODULE [options]. Prints one line of JSON. Builds the loop with cargo.
import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { cargoEnvironment } from '../scripts/cargo.mjs'
import { load, measuredPath, message, tell } from './measured.mjs'
import { startProvider } from './mock-provider.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    history: { type: 'string', default: '100' },
    sessions: { type: 'string', default: '16' },
    turns: { type: 'string', default: '400' },
    each: { type: 'string', default: '4' },
  },
})
const path = measuredPath(positionals)
const { createOpenAICompatibleAdapter, createSession, InMemoryStorageAdapter } = await load(path)

const folder = mkdtempSync(join(tmpdir(), 'stello-bench-'))
process.on('exit', () => rmSync(folder, { recursive: true }))
const files = (await requestBodies()).map((body, n) => {
  const file = join(folder, `${n}.json`)
  writeFileSync(file, body)
  return file
})
const program = buildLoop()
const provider = await startProvider()
const { stdout } = await promisify(execFile)(program, [`${provider.origin}/v1/chat/completions`, values.sessions, values.turns, ...files])
tell(JSON.parse(stdout))
provider.stop()

/** What the package posts in the turns of one session. */
async function requestBodies() {
  /** @type {Buffer[]} */
  const bodies = []
  const server = http.createServer(async (request, response) => {
    bodies.push(Buffer.concat(await request.toArray()))
    response.setHeader('content-type', 'application/json')
    const choices = [{ index: 0, message: { role: 'assistant', content: 'x'.repeat(400) }, finish_reason: 'stop' }]
    response.end(JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = /** @type {import('node:net').AddressInfo} */ (server.address())
  const llm = createOpenAICompatibleAdapter({ apiKey: 'key', model: 'm', maxContextTokens: 1e9, baseURL: `http://127.0.0.1:${address.port}/v1` })
  const storage = new InMemoryStorageAdapter()
  const session = await createSession({ storage, llm, label: 's0', systemPrompt: 'You are a careful assistant.' })
  for (let n = 0; n < Number(values.history); n++) await storage.appendRecord(session.meta.id, message(n))
  for (let n = 0; n < Number(values.each); n++) await session.send('hello there')
  server.closeAllConnections()
  server.close()
  return bodies
}

/** @returns {string} the loop's program */
function buildLoop() {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const env = cargoEnvironment()
  // The addon is built for a named target too: so both share what they depend on.
  const host = spawnSync('rustc', ['--print', 'host-tuple'], { cwd: root, env, encoding: 'utf8' }).stdout.trim()
  const command = ['build', '--release', '--target', host, '--no-default-features', '--features', 'bench', '--bin', 'bare-loop', '--message-format', 'json-render-diagnostics']
  const built = spawnSync('cargo', command, { cwd: root, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 1e8 })
  const told = built.stdout.split('\n').find((line) => line.includes('"executable":"'))
  if (built.status !== 0 || told === undefined) throw new Error('the loop could not be built')
  return JSON.parse(told).executable
}

// Uses the package in a thread of its own, and says so once turns of every kind are in flight.
import { parentPort, workerData } from 'node:worker_threads'
import { createOpenAICompatibleAdapter, createSession, InMemoryStorageAdapter, LLMError, Session, SqliteStorageAdapter } from '@stello-ai/session'

const { silent, answering, n } = workerData
const adapter = (/** @type {string} */ baseURL) => createOpenAICompatibleAdapter({ baseURL, model: 'm', apiKey: '', maxContextTokens: 1000, maxRetries: 0 })
const never = { maxContextTokens: 1000, complete: () => new Promise(() => {}), async *stream() { yield { delta: 'a' }; await new Promise(() => {}) } }
const busy = { maxContextTokens: 1000, complete: async () => ({ content: 'answer' }) }

const storages = [new InMemoryStorageAdapter(), new SqliteStorageAdapter({ path: ':memory:' })]
for (const storage of storages) {
  const done = await createSession({ storage, llm: adapter(answering) })
  if (!(done instanceof Session)) throw new Error('not a Session of this thread')
  if ((await done.send('hello')).content !== 'answer') throw new Error('wrong answer')
  const failing = await createSession({ storage, llm: adapter('http://127.0.0.1:1') })
  await failing.send('hello').catch((error) => {
    if (!(error instanceof LLMError)) throw error
  })
  for (const llm of [adapter(silent), /** @type {any} */ (never)]) {
    const session = await createSession({ storage, llm })
    session.send('waits for ever').catch(() => {})
    session.send('waits for its place').catch(() => {})
    const stream = (await createSession({ storage, llm })).stream('hello')
    await stream[Symbol.asyncIterator]().next()
  }
  // Turns that come and go all the time, so that the end finds them at any point.
  const session = await createSession({ storage, llm: busy })
  void (async () => {
    for (;;) await session.send('again')
  })()
  storage.transaction(() => new Promise(() => {})).catch(() => {})
}
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
setTimeout(() => parentPort?.postMessage('in flight'), n)

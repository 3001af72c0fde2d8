// Leaves by process.exit() while turns of every kind are in flight, after as many event loop turns as process.argv[3] says.
import { createOpenAICompatibleAdapter, createSession, InMemoryStorageAdapter, SqliteStorageAdapter } from '@stello-ai/session'

const [silent, loops] = [process.argv[2], Number(process.argv[3])]
const native = createOpenAICompatibleAdapter({ baseURL: silent, model: 'm', apiKey: '', maxContextTokens: 1000 })
const never = { maxContextTokens: 1000, complete: () => new Promise(() => {}) }
const busy = { maxContextTokens: 1000, complete: async () => ({ content: 'answer' }) }
for (const storage of [new InMemoryStorageAdapter(), new SqliteStorageAdapter({ path: ':memory:' })]) {
  for (const llm of [native, /** @type {any} */ (never), busy]) {
    const session = await createSession({ storage, llm })
    session.send('hello').catch(() => {})
    session.stream('waits')
    void storage.listSessions()
  }
}
let left = loops
const go = () => (left-- > 0 ? setImmediate(go) : process.exit(7))
go()

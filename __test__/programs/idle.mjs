// Uses everything, closes nothing, and ends by itself.
import { createGPT, createSession, InMemoryStorageAdapter, SqliteStorageAdapter } from '@stello-ai/session'

const llm = { maxContextTokens: 1000, complete: async () => ({ content: 'answer' }) }
const kept = []
for (const storage of [new InMemoryStorageAdapter(), new SqliteStorageAdapter({ path: ':memory:' })]) {
  const session = await createSession({ storage, llm })
  await session.send('hello')
  kept.push(session)
}
kept.push(createGPT({ model: 'gpt-4o', apiKey: 'key' }))
Object.assign(globalThis, { kept })
console.log('idle')

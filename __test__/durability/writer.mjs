// A process that holds conversations until it is done or killed: node writer.mjs JSON
//
// JSON: { sqlite: options } or { postgres: options }, with name, turns, sessions. Prints one line for what was acknowledged.
import { writeSync } from 'node:fs'
import { PostgresStorageAdapter, SqliteStorageAdapter, createSession, loadSession } from '@stello-ai/session'

/** @type {{ sqlite?: import('@stello-ai/session').SqliteStorageOptions, postgres?: import('@stello-ai/session').PostgresStorageOptions, name: string, turns: number, sessions: string[] }} */
const { sqlite, postgres, name, turns, sessions } = JSON.parse(process.argv[2] ?? '')
const storage = sqlite === undefined ? new PostgresStorageAdapter(/** @type {NonNullable<typeof postgres>} */ (postgres)) : new SqliteStorageAdapter(sqlite)

/** @type {import('@stello-ai/session').LLMAdapter} */
const llm = {
  maxContextTokens: 10_000_000,
  complete: async (messages) => ({ content: `re: ${messages.at(-1)?.content}` }),
}

const open = await Promise.all(sessions.map(async (id) => (await loadSession(id, { storage, llm })) ?? createSession({ storage, llm, id, label: '' })))
for (let turn = 0; turn < turns; turn += 1) {
  const session = open[turn % open.length]
  const content = `${name}.${turn}`
  // What is there to be spent by the turn: only if nobody else works on the session.
  if (sessions.length === 1) await session?.setInsight(`for ${content}`)
  await session?.send(content)
  // Not through a stream, which a kill could empty.
  writeSync(1, `${content}\n`)
}
await storage.close()

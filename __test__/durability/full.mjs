// Sends until the file may not grow any more: node full.mjs PATH. Prints what was acknowledged and what was refused.
import { SqliteStorageAdapter, createSession } from '@stello-ai/session'

const storage = new SqliteStorageAdapter({ path: process.argv[2] ?? '' })
const session = await createSession({ storage, id: 's', llm: { maxContextTokens: 1e9, complete: async (messages) => ({ content: `re: ${messages.at(-1)?.content}` }) } })

/** @type {string[]} */
const acknowledged = []
/** @type {Array<{ name: string, code: string }>} */
const refused = []
for (let turn = 0; refused.length < 3; turn += 1) {
  const content = `${turn} ${'x'.repeat(5000)}`
  await session.send(content).then(
    () => acknowledged.push(content),
    ({ name, code }) => refused.push({ name, code }),
  )
}
const { length } = await session.messages()
console.log(JSON.stringify({ acknowledged, refused, length }))

// Conversations that learn from one another: node examples/reflection.mjs
//
// Sessions know nothing of each other. Each has a memory, which says what others may know about it; a reflection reads
// all memories and leaves insights, notes that a session's model is shown with the next turn, and only with that one.
import { createSession, forkSession, InMemoryStorageAdapter, listSessionDigests } from '@stello-ai/session'
import { startProvider } from './support/provider.mjs'
import { heading, say, showMessages } from './support/terminal.mjs'

/** @import { ConsolidateFn, MainStorage } from '@stello-ai/session' */

const provider = await startProvider()
const { llm } = provider

/**
 * Makes a session's memory; forks inherit it.
 *
 * @type {ConsolidateFn}
 */
async function sumUp(memory, messages) {
  const { content } = await llm.complete([
    { role: 'system', content: `Sum up in one sentence what others should know about this conversation. So far: ${memory ?? 'nothing'}` },
    { role: 'user', content: JSON.stringify(messages.map(({ role, content: text }) => ({ role, content: text }))) },
  ])
  return content ?? ''
}

/**
 * Reads what all conversations remember, and tells each what helps of the others.
 *
 * @param {MainStorage} storage
 */
async function reflect(storage) {
  const digests = await listSessionDigests(storage, { status: 'active' })
  for (const { id, label } of digests) {
    const others = digests.filter((digest) => digest.id !== id && digest.memory !== null).map((digest) => `${digest.label}: ${digest.memory}`)
    if (others.length === 0) continue
    const { content } = await llm.complete([
      { role: 'system', content: `Look over what other conversations with this user say, and note in one sentence what helps in the one called "${label}".` },
      { role: 'user', content: others.join('\n') },
    ])
    if (content !== null && content !== '') await storage.putInsight(id, content)
  }
}

try {
  const storage = new InMemoryStorageAdapter()
  const root = await createSession({ storage, llm, parentId: null, label: 'Kyoto', systemPrompt: 'You are a travel companion.', consolidateFn: sumUp })

  heading('One conversation, and a fork for each of its topics')
  await say(root, 'I am Mei, and I am going to Kyoto in April.')
  const sights = await forkSession(root, { label: 'Sights' })
  const food = await forkSession(root, { label: 'Food', context: 'inherit' })
  await say(food, 'I like it quiet, also where I eat.')

  heading('What they remember')
  for (const session of [root, sights, food]) {
    if ((await session.messages()).length > 0) await session.consolidate()
  }
  for (const { label, memory } of await listSessionDigests(storage)) console.log(`${label}: ${memory ?? '(nothing)'}`)

  heading('The reflection leaves insights')
  await reflect(storage)
  for (const { label, insight } of await listSessionDigests(storage)) console.log(`${label}: ${insight ?? '(none)'}`)

  heading('The next turn sees its insight, and spends it')
  await say(sights, 'Where should I go first?')
  showMessages(provider.received())
  console.log(`\nwaiting insight: ${await sights.insight()}`)
} finally {
  await provider.stop()
}

// @ts-check
/** 200 streams at once in one process; run by `load.spec.ts` with `--expose-gc`. Prints what it saw as JSON. */
import { createOpenAICompatibleAdapter, createSession, InMemoryStorageAdapter } from '@stello-ai/session'

const [url, streams, chunks] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])]
const collect = /** @type {() => void} */ (globalThis.gc)

async function settle() {
  for (let round = 0; round < 10; round++) {
    collect()
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const { heapUsed, rss, external } = process.memoryUsage()
  return { heapUsed, rss, external }
}

async function burst() {
  const storage = new InMemoryStorageAdapter()
  const llm = createOpenAICompatibleAdapter({ baseURL: url, apiKey: '', model: 'm', maxContextTokens: 100_000 })
  const read = async (/** @type {number} */ n) => {
    const session = await createSession({ storage, llm, id: `s${n}` })
    const stream = session.stream(`stream ${n}`)
    const pieces = []
    for await (const piece of stream) pieces.push(piece)
    const { content } = await stream.result
    const [, answer] = await session.messages()
    const expected = Array.from({ length: chunks }, (_, at) => `${n}.${at} `)
    return pieces.join('') === expected.join('') && content === expected.join('') && answer.content === content
  }
  const outcomes = await Promise.all(Array.from({ length: streams }, (_, n) => read(n)))
  return outcomes.filter(Boolean).length
}

// The first bursts make what stays: threads, connections, and what the allocator keeps.
for (let first = 0; first < 8; first++) await burst()
const before = await settle()
const began = performance.now()
const inOrder = await burst()
const ms = performance.now() - began
for (let more = 0; more < 5; more++) await burst()
console.log(JSON.stringify({ inOrder, ms, before, after: await settle() }))

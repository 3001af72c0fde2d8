// @ts-check
// What a `send` takes around an adapter in JavaScript that answers at once: node bench/overhead.mjs MODULE [options].
// Prints one line of JSON.
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { MapStorage } from './map-storage.mjs'
import { load, measuredPath, median, message, processMs, quantile, tell } from './measured.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    history: { type: 'string', default: '100' }, // messages before each turn: what a turn adds is trimmed after it
    turns: { type: 'string', default: '500' },
    warmup: { type: 'string', default: '20' },
    storage: { type: 'string', default: 'native' }, // or javascript
  },
})
const { createSession, InMemoryStorageAdapter } = await load(measuredPath(positionals))
const [history, turns, warmup] = [values.history, values.turns, values.warmup].map(Number)

let shown = 0
const llm = {
  maxContextTokens: 1e9,
  async complete(/** @type {unknown[]} */ messages) {
    shown += messages.length
    return { content: 'ok', usage: { promptTokens: 10, completionTokens: 1 } }
  },
}
const storage = values.storage === 'javascript' ? new MapStorage() : new InMemoryStorageAdapter()
const session = await createSession({ storage, llm, label: 'overhead', systemPrompt: 'You are a careful assistant.' })
const { id } = session.meta
for (let index = 0; index < history; index++) await storage.appendRecord(id, message(index))

await hold(warmup)
shown = 0
const cpu = processMs()
const latencies = await hold(turns)
tell({
  turns,
  messages: shown / turns,
  latencyUs: median(latencies),
  p99Us: quantile(latencies, 0.99),
  processUs: ((processMs() - cpu) * 1000) / turns,
})
process.exit()

/**
 * @param {number} count
 * @returns {Promise<number[]>} how long each turn took, in microseconds
 */
async function hold(count) {
  const times = []
  for (let n = 0; n < count; n++) {
    const began = performance.now()
    await session.send('hello there')
    times.push((performance.now() - began) * 1000)
    await storage.trimRecords(id, history)
  }
  return times
}

// @ts-check
// Turns against a provider on this machine: node bench/turns.mjs MODULE [options], see below. Prints one line of JSON.
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { MapStorage } from './map-storage.mjs'
import { load, mainThreadMs, measuredPath, median, message, processMs, tell } from './measured.mjs'
import { startProvider } from './mock-provider.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    history: { type: 'string', default: '100' }, // messages that a session has before its first turn
    sessions: { type: 'string', default: '16' }, // how many have a turn at the same time
    turns: { type: 'string', default: '400' },
    each: { type: 'string', default: '4' }, // turns of one session, few, so that its history stays what it is said to be
    warmup: { type: 'string', default: '1000' }, // turns before the clock starts: they compile the code and open the connections
    storage: { type: 'string', default: 'native' }, // or javascript
    protocol: { type: 'string', default: 'openai' }, // or anthropic
    stream: { type: 'boolean', default: false },
    chunks: { type: 'string', default: '20' }, // of an answer
    reply: { type: 'string', default: '400' }, // characters of an answer
    delay: { type: 'boolean', default: false }, // measure the delay of the event loop too, which costs CPU time itself
  },
})
const { createAnthropicAdapter, createOpenAICompatibleAdapter, createSession, InMemoryStorageAdapter } = await load(measuredPath(positionals))
const [history, sessions, turns, each, warmup] = [values.history, values.sessions, values.turns, values.each, values.warmup].map(Number)

const provider = await startProvider({ chunks: Number(values.chunks), replyChars: Number(values.reply) })
const options = { apiKey: 'key', model: 'm', maxContextTokens: 1e9 }
const llm =
  values.protocol === 'anthropic'
    ? createAnthropicAdapter({ ...options, baseURL: provider.origin })
    : createOpenAICompatibleAdapter({ ...options, baseURL: `${provider.origin}/v1` })
const storage = values.storage === 'javascript' ? new MapStorage() : new InMemoryStorageAdapter()

await hold(await make(Math.ceil(warmup / each), Math.min(history, 10)), [])
const made = await make(Math.ceil(turns / each), history)
globalThis.gc?.()

/** @type {number[]} */
const latencies = []
const delay = values.delay ? monitorEventLoopDelay({ resolution: 1 }) : undefined
delay?.enable()
const [main, cpu, wall] = [mainThreadMs(), processMs(), performance.now()]
await hold(made, latencies)
const [mainMs, cpuMs, wallMs] = [mainThreadMs() - main, processMs() - cpu, performance.now() - wall]
delay?.disable()

const held = latencies.length
tell({
  turns: held,
  turnsPerS: (held / wallMs) * 1000,
  mainMs: mainMs / held,
  processMs: cpuMs / held,
  latencyMs: median(latencies),
  ...(delay !== undefined && { delayP99Ms: delay.percentile(99) / 1e6 }),
})
provider.stop()
process.exit()

/**
 * Sessions with a history of `length` messages.
 *
 * @param {number} count
 * @param {number} length
 */
async function make(count, length) {
  return Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const session = await createSession({ storage, llm, label: `s${n}`, systemPrompt: 'You are a careful assistant.' })
      for (let index = 0; index < length; index++) await storage.appendRecord(session.meta.id, message(index))
      return session
    }),
  )
}

/**
 * All turns of the sessions, as many sessions at a time as are to be.
 *
 * @param {Awaited<ReturnType<typeof make>>} waiting
 * @param {number[]} times
 */
async function hold(waiting, times) {
  const queue = waiting.slice()
  async function work() {
    for (let session = queue.pop(); session !== undefined; session = queue.pop()) {
      for (let n = 0; n < each; n++) {
        const began = performance.now()
        await turn(session)
        times.push(performance.now() - began)
      }
    }
  }
  await Promise.all(Array.from({ length: sessions }, work))
}

/** @param {import('@stello-ai/session').Session} session */
async function turn(session) {
  if (!values.stream) return void (await session.send('hello there'))
  const stream = session.stream('hello there')
  for await (const _ of stream);
  await stream.result
}

// Holds conversations and aborts most turns at a random instant: node cancelled.mjs JSON
//
// JSON: { place, baseURL?, turns, seed }. Prints what it found as JSON; ends with an error where a promise is broken.
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { getEventListeners } from 'node:events'
import { setImmediate as nextLoop, setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createSession } from '@stello-ai/session'
import { openModel, openPlace } from './places.mjs'
import { answerTo, random } from './random.mjs'

const { place, baseURL, turns, seed } = JSON.parse(process.argv[2] ?? '{}')
const chance = random(seed)
setFlagsFromString('--expose-gc')
/** @type {() => void} */
const collect = runInNewContext('gc')
process.on('unhandledRejection', (reason) => {
  throw reason
})

const AT_ONCE = 16
/** Whose turn the running code was called for: what is called after its end is called too late. */
const current = /** @type {AsyncLocalStorage<{ ended: boolean }>} */ (new AsyncLocalStorage())
let late = 0

/**
 * The object, which notices calls of its methods for a turn that has ended.
 *
 * @template {object} T
 * @param {T} target
 * @returns {T}
 */
function watched(target) {
  return new Proxy(target, {
    get(of, name) {
      const value = Reflect.get(of, name, of)
      if (typeof value !== 'function') return value
      return (/** @type {unknown[]} */ ...args) => {
        if (current.getStore()?.ended === true) late += 1
        if (name === 'transaction') return value.call(of, (/** @type {object} */ tx) => /** @type {Function} */ (args[0])(watched(tx)))
        return Reflect.apply(value, of, args)
      }
    },
  })
}

const own = openPlace(place)
const storage = place.javascript === true ? watched(own) : own
const llm = baseURL === undefined ? watched(openModel(undefined, chance)) : openModel(baseURL, chance)
const never = new AbortController().signal
const sessions = await Promise.all(['a', 'b', 'c', 'd'].map((id) => createSession({ storage, llm, id, label: id, systemPrompt: 'P' })))
const told = { resolved: 0, aborted: 0, listeners: 0, lateCalls: 0, latePieces: 0, heapGrowthKb: 0, resources: /** @type {string[]} */ ([]) }

/** Aborts at a moment that chance picks: at once, some microtasks, some loops or some milliseconds later. */
async function abortSoon(/** @type {AbortController} */ stop, /** @type {Error} */ reason) {
  const kind = chance()
  if (kind < 0.1) return stop.abort(reason)
  if (kind < 0.3) for (let n = chance() * 40; n > 0; n -= 1) await Promise.resolve()
  else if (kind < 0.6) for (let n = chance() * 12; n > 0; n -= 1) await nextLoop()
  else await pause(chance() * 14)
  stop.abort(reason)
}

/** One turn; answers its message if it was acknowledged. */
async function turn(/** @type {import('@stello-ai/session').Session} */ session, /** @type {string} */ message) {
  const stop = new AbortController()
  const reason = new Error(`stop ${message}`)
  const aborts = chance() < 0.85
  const signal = aborts ? stop.signal : never
  const state = { ended: false }
  let pieces = ''
  const run = current.run(state, () => {
    if (chance() < 0.5) return session.send(message, { signal })
    const stream = session.stream(message, { signal })
    const how = chance()
    if (how < 0.3) return stream.result
    return (async () => {
      for await (const piece of stream) {
        if (state.ended) told.latePieces += 1
        pieces += piece
        if (how > 0.9 && aborts) stop.abort(reason)
      }
      return how < 0.6 ? { content: pieces } : stream.result
    })()
  })
  if (aborts) void abortSoon(stop, reason)
  try {
    const { content } = await run
    assert.equal(content, answerTo(message))
    told.resolved += 1
    return message
  } catch (error) {
    if (error !== reason) throw error
    assert(answerTo(message).startsWith(pieces))
    told.aborted += 1
    return undefined
  } finally {
    state.ended = true
    told.listeners += getEventListeners(stop.signal, 'abort').length
  }
}

let made = 0
/** @type {number | undefined} */
let heapBefore
for (let round = 0; round * AT_ONCE < turns; round += 1) {
  const batch = sessions.map((session) => ({ session, messages: Array.from({ length: AT_ONCE / sessions.length }, () => `turn ${(made += 1)}`) }))
  const withInsight = chance() < 0.5
  await Promise.all(
    batch.map(async ({ session, messages }) => {
      if (withInsight) await session.setInsight('an insight')
      const acknowledged = (await Promise.all(messages.map((message) => turn(session, message)))).filter((message) => message !== undefined)
      const expected = acknowledged.flatMap((message) => [message, answerTo(message)])
      assert.deepEqual((await session.messages()).map(({ content }) => content), expected)
      if (withInsight) assert.equal(await session.insight(), acknowledged.length === 0 ? 'an insight' : null)
      await session.trimRecords(0)
    }),
  )
  if (heapBefore === undefined && round * AT_ONCE > turns / 3) {
    collect()
    heapBefore = process.memoryUsage().heapUsed
  }
}
// What was aborted may still be ending on the other side.
await pause(50)
await nextLoop()
collect()
told.heapGrowthKb = Math.round((process.memoryUsage().heapUsed - (heapBefore ?? 0)) / 1024)
told.listeners += getEventListeners(never, 'abort').length
told.lateCalls = late
await storage.close()
told.resources = process.getActiveResourcesInfo().filter((name) => !/^(TTYWrap|PipeWrap|Immediate)$/.test(name))
console.log(JSON.stringify(told))

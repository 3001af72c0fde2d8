// Many sessions at once against a bad provider: node __test__/reliability/load.mjs [JSON]
//
// JSON: { place, baseURL, sessions, turns, atOnce, seed }. Every turn is tried until it is acknowledged; then what is stored must be just
// what was acknowledged, in content and order. Prints figures as JSON; ends with an error where a promise is broken.
//
// Without `baseURL` it starts a provider of its own; without `place` it works on an SQLite file:
//
//   node __test__/reliability/load.mjs '{"sessions":2000,"turns":50}'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { createSession, LLMError, loadSession } from '@stello-ai/session'
import { openModel, openPlace } from './places.mjs'
import { answerTo, random, seedOfRun } from './random.mjs'

const given = JSON.parse(process.argv[2] ?? '{}')
const { sessions: count = 200, turns = 10, atOnce = 64, seed = seedOfRun(), faults = 0.1, latencyMs = 8 } = given
const folder = mkdtempSync(join(tmpdir(), 'stello-load-'))
const provider = given.baseURL === undefined ? spawn(process.execPath, [fileURLToPath(new URL('provider.mjs', import.meta.url)), JSON.stringify({ seed, faults, latencyMs })], { stdio: ['pipe', 'pipe', 'inherit'] }) : undefined
const baseURL = provider === undefined ? given.baseURL : (await once(createInterface(provider.stdout), 'line'))[0]
const place = given.place ?? { sqlite: { path: join(folder, 'load.db') } }

process.on('unhandledRejection', (reason) => {
  throw reason
})
const chance = random(seed)
const storage = openPlace(place)
const llm = openModel(baseURL, chance, 1)
const delay = monitorEventLoopDelay({ resolution: 1 })
const told = { seed, acknowledged: 0, failed: 0, stored: 0, seconds: 0, turnsPerSecond: 0, eventLoopP99Ms: 0, eventLoopMaxMs: 0, peakRssMb: 0 }
let peakRss = 0
const watch = setInterval(() => (peakRss = Math.max(peakRss, process.memoryUsage.rss())), 50)

/** @param {import('@stello-ai/session').Session} session @param {string} message */
async function turn(session, message) {
  const expected = answerTo(message)
  for (;;) {
    try {
      if (chance() < 0.5) {
        assert.equal((await session.send(message)).content, expected)
      } else {
        const stream = session.stream(message)
        let text = ''
        for await (const piece of stream) text += piece
        assert.equal(text, expected)
      }
      told.acknowledged += 1
      return
    } catch (error) {
      if (!(error instanceof LLMError)) throw error
      told.failed += 1
    }
  }
}

const idOf = (/** @type {number} */ n) => `load ${n}`
const sessions = []
for (let n = 0; n < count; n++) sessions.push(createSession({ storage, llm, id: idOf(n), label: '', parentId: null }))
const open = await Promise.all(sessions)

// Rounds over all sessions, so that all are open all the time; a session's turns may queue behind one another.
const work = Array.from({ length: count * turns }, (_, n) => ({ session: open[n % count], message: `${n % count}.${Math.floor(n / count)}` }))
let next = 0
delay.enable()
const began = performance.now()
await Promise.all(
  Array.from({ length: atOnce }, async () => {
    for (let job = work[next++]; job !== undefined; job = work[next++]) await turn(/** @type {any} */ (job.session), job.message)
  }),
)
told.seconds = Number(((performance.now() - began) / 1000).toFixed(1))
delay.disable()
clearInterval(watch)

// What a process that opens it anew finds.
await storage.close()
const again = openPlace(place)
for (let n = 0; n < count; n++) {
  const session = await loadSession(idOf(n), { storage: again })
  const contents = (await session?.messages())?.map(({ role, content }) => `${role}: ${content}`) ?? []
  const messages = contents.filter((_, at) => at % 2 === 0).map((text) => text.replace('user: ', ''))
  assert.deepEqual(contents, messages.flatMap((message) => [`user: ${message}`, `assistant: ${answerTo(message)}`]))
  assert.deepEqual(messages.toSorted(), Array.from({ length: turns }, (_, round) => `${n}.${round}`).toSorted())
  told.stored += messages.length
}
await again.close()
assert.equal(told.stored, told.acknowledged)
told.turnsPerSecond = Math.round(told.acknowledged / told.seconds)
told.eventLoopP99Ms = Number((delay.percentile(99) / 1e6).toFixed(1))
told.eventLoopMaxMs = Number((delay.max / 1e6).toFixed(1))
told.peakRssMb = Math.round(peakRss / 2 ** 20)
rmSync(folder, { recursive: true, force: true })
provider?.stdin.end()
console.log(JSON.stringify(told))

// An hour of a busy application, as fast as it goes: node --expose-gc __test__/reliability/soak.mjs [JSON]
//
// JSON: { place, baseURL, turns, seed }. Sessions are created, loaded, forked, used with every kind of turn and a part of them aborted,
// archived, deleted and dropped; their number stays the same. Samples of what the process holds are taken all along, and a line is laid
// through those after the first third. Prints it as JSON.
//
//   node --expose-gc __test__/reliability/soak.mjs '{"turns":72000}'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setImmediate as nextLoop } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createMainSession, createSession, forkSession, loadSession } from '@stello-ai/session'
import { openModel, openPlace } from './places.mjs'
import { random, seedOfRun } from './random.mjs'

const given = JSON.parse(process.argv[2] ?? '{}')
const { turns = 3_000, seed = seedOfRun(), samples = 60 } = given
const folder = mkdtempSync(join(tmpdir(), 'stello-soak-'))
const provider = given.baseURL === undefined ? spawn(process.execPath, [fileURLToPath(new URL('provider.mjs', import.meta.url)), JSON.stringify({ seed, faults: 0.02, latencyMs: 2 })], { stdio: ['pipe', 'pipe', 'inherit'] }) : undefined
const baseURL = provider === undefined ? given.baseURL : (await once(createInterface(provider.stdout), 'line'))[0]
const place = given.place ?? { sqlite: { path: join(folder, 'soak.db'), synchronous: 'normal' } }
const collect = /** @type {() => void} */ (globalThis.gc)
const chance = random(seed)
const storage = openPlace(place)
const native = openModel(baseURL, chance, 1)
const inJavaScript = openModel(undefined, () => 0)
const never = new AbortController().signal
process.on('unhandledRejection', (reason) => {
  throw reason
})

const KEPT = 40
const AT_ONCE = 8
/** @type {import('@stello-ai/session').Session[]} */
const kept = []
let made = 0
let done = 0
const pick = () => /** @type {import('@stello-ai/session').Session} */ (kept[Math.floor(chance() * kept.length)])
const fresh = () => `soak ${(made += 1)}`
const options = () => ({ storage, llm: chance() < 0.6 ? native : inJavaScript, label: `session ${made}`, systemPrompt: 'Be brief.', compressFn: async () => 'a summary' })

/** Takes the place of one that goes, in every way one can go. */
async function replace() {
  const parent = pick()
  const how = chance()
  const session =
    how < 0.4 ? await createSession({ ...options(), id: fresh(), parentId: null }) : how < 0.7 ? await forkSession(parent, { id: fresh(), label: 'child', context: 'inherit' }) : await parent.fork({ id: fresh(), label: 'child', context: (records) => records.slice(-4) })
  const [gone] = kept.splice(Math.floor(chance() * kept.length), 1, session)
  if (gone === undefined) return
  if (chance() < 0.3) await gone.archive()
  await storage.deleteSession(gone.meta.id)
  await storage.removeNode(gone.meta.id)
}

/** @param {import('@stello-ai/session').Session} session */
async function turn(session) {
  const stop = new AbortController()
  const aborts = chance() < 0.2
  const signal = aborts ? stop.signal : never
  const message = `turn ${done} ${'with some words. 加上一些字。'.repeat(Math.floor(chance() * 10))}`
  try {
    const how = chance()
    if (how < 0.5) {
      const sent = session.send(message, { signal })
      if (aborts) setTimeout(() => stop.abort(), chance() * 4)
      await sent
    } else {
      const stream = session.stream(message, { signal })
      if (aborts) setTimeout(() => stop.abort(), chance() * 4)
      if (how < 0.7) for await (const _ of stream) if (chance() < 0.1) break
      await stream.result
    }
  } catch (error) {
    // What was aborted, what the provider broke, and sessions that have just been archived or deleted.
    if (!/Abort|LLM|Archived/.test(`${/** @type {Error} */ (error).name}`)) throw error
  }
}

async function step() {
  done += 1
  const session = pick()
  await turn(session)
  const what = chance()
  if (what < 0.05) await replace()
  else if (what < 0.1) await session.trimRecords(6).catch(() => {})
  else if (what < 0.15) await session.setInsight('an insight').catch(() => {})
  else if (what < 0.2) await session.consolidate(async (_, messages) => `${messages.length}`).catch(() => {})
  else if (what < 0.25) await session.messages({ limit: 3 })
  else if (what < 0.3) {
    const at = kept.indexOf(session)
    const loaded = at < 0 ? null : await loadSession(session.meta.id, options())
    if (loaded !== null && kept[at] === session) kept[at] = loaded
  } else if (what < 0.32) {
    const main = await createMainSession({ ...options(), id: 'main' })
    await main.integrate(async (children) => ({ synthesis: `${children.length}`, insights: [] }))
  } else if (what < 0.34) await storage.transaction(async (tx) => tx.putMemory(session.meta.id, 'memory'))
}

const threads = () => (existsSync('/proc/self/task') ? readdirSync('/proc/self/task').length : 0)
const handles = () => (existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : process.getActiveResourcesInfo().length)
/** In kB. */
const resident = () => Number(/VmRSS:\s+(\d+)/.exec(existsSync('/proc/self/status') ? readFileSync('/proc/self/status', 'utf8') : '')?.[1] ?? process.memoryUsage.rss() / 1024)

/** @type {{ turn: number, heapKb: number, externalKb: number, rssKb: number, handles: number, threads: number }[]} */
const series = []
async function sample() {
  for (let round = 0; round < 3; round++) {
    collect()
    await nextLoop()
  }
  const { heapUsed, external } = process.memoryUsage()
  series.push({ turn: done, heapKb: Math.round(heapUsed / 1024), externalKb: Math.round(external / 1024), rssKb: resident(), handles: handles(), threads: threads() })
}

/** The slope of the line of least squares, in units a thousand turns. @param {(at: typeof series[number]) => number} of */
function slope(of) {
  const late = series.slice(Math.floor(series.length / 3))
  const meanX = late.reduce((sum, { turn: at }) => sum + at, 0) / late.length
  const meanY = late.reduce((sum, at) => sum + of(at), 0) / late.length
  const up = late.reduce((sum, at) => sum + (at.turn - meanX) * (of(at) - meanY), 0)
  const down = late.reduce((sum, at) => sum + (at.turn - meanX) ** 2, 0)
  return Number(((up / down) * 1000).toFixed(2))
}

for (let n = 0; n < KEPT; n++) kept.push(await createSession({ ...options(), id: fresh(), parentId: null }))
const began = performance.now()
const stride = Math.max(AT_ONCE, Math.ceil(turns / samples))
for (let until = stride; until < turns + stride; until += stride) {
  const goal = until
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (done < goal) await step()
    }),
  )
  await sample()
}
const seconds = (performance.now() - began) / 1000
await storage.close()
provider?.stdin.end()
rmSync(folder, { recursive: true, force: true })
if (given.series === true) console.log(JSON.stringify(series))
const [first, last] = [series[Math.floor(series.length / 3)], series.at(-1)]
const growth = { heapKb: slope((at) => at.heapKb), externalKb: slope((at) => at.externalKb), rssKb: slope((at) => at.rssKb), handles: slope((at) => at.handles), threads: slope((at) => at.threads) }
console.log(JSON.stringify({ seed, turns: done, sessions: made, turnsPerSecond: Math.round(done / seconds), afterAThird: first, atTheEnd: last, growthPerThousandTurns: growth }))

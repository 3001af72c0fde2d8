// Turns that are aborted at a random instant, by the thousand: what was acknowledged is stored and nothing else is, the insight is
// spent only by what was stored, nobody waits for ever, and nothing is left behind.
//
//   STELLO_CANCELLATIONS=10000 npx vitest run __test__/reliability/cancellation.spec.ts
//   STELLO_SEED=…                 what a failure names, to have the same chances again
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freshSchema, postgresUrl } from '../support/postgres.js'
import { run, startProvider } from './programs.js'
import { seedOfRun } from './random.mjs'

const turns = Number(process.env.STELLO_CANCELLATIONS ?? 320)
const seed = seedOfRun()
const folder = await mkdtemp(join(tmpdir(), 'stello-cancelled-'))
let provider: Awaited<ReturnType<typeof startProvider>>
beforeAll(async () => {
  provider = await startProvider({ seed, latencyMs: 6 })
})
afterAll(async () => {
  await provider.stop()
  await rm(folder, { recursive: true, force: true })
})

interface Told {
  resolved: number
  aborted: number
  heapGrowthKb: number
}

let files = 0
const places: Record<string, () => object> = {
  'a JavaScript storage': () => ({ javascript: true }),
  'the in-memory storage': () => ({ memory: true }),
  SQLite: () => ({ sqlite: { path: join(folder, `${(files += 1)}.db`), synchronous: 'normal' } }),
  PostgreSQL: () => ({ postgres: { connectionString: postgresUrl(), schema: freshSchema(), maxConnections: 8 } }),
}

describe.each(Object.entries(places))('on %s', (name, place) => {
  it.each(['a native model', 'a JavaScript model'])(`${turns} turns of %s, most of them aborted, leave what was acknowledged and nothing else`, { timeout: 60_000 + turns * 60 }, async (model) => {
    const told = await run<Told>('cancelled.mjs', { place: place(), baseURL: model === 'a native model' ? provider.url : undefined, turns, seed })
    console.log(`on ${name}, ${model}, seed ${seed}:`, JSON.stringify(told))
    expect(told).toEqual({ resolved: expect.any(Number), aborted: expect.any(Number), listeners: 0, lateCalls: 0, latePieces: 0, heapGrowthKb: expect.any(Number), resources: [] })
    expect(told.resolved + told.aborted).toBeGreaterThanOrEqual(turns)
    expect(Math.min(told.resolved, told.aborted)).toBeGreaterThan(turns / 20)
    expect(told.heapGrowthKb).toBeLessThan(1_500)
  })
})

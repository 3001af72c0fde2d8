// What an hour of a busy application leaves behind: nothing that grows. Here a few minutes of it; the hour, at twenty turns a second:
//
//   STELLO_SOAK_TURNS=72000 npx vitest run __test__/reliability/soak.spec.ts
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freshSchema, postgresUrl } from '../support/postgres.js'
import { run, startProvider } from './programs.js'
import { seedOfRun } from './random.mjs'

const turns = Number(process.env.STELLO_SOAK_TURNS ?? 1_500)
const isLong = turns >= 20_000
const seed = seedOfRun()
const folder = await mkdtemp(join(tmpdir(), 'stello-soak-'))
let provider: Awaited<ReturnType<typeof startProvider>>
beforeAll(async () => {
  provider = await startProvider({ seed, latencyMs: 2, faults: 0.02 })
})
afterAll(async () => {
  await provider.stop()
  await rm(folder, { recursive: true, force: true })
})

interface Told {
  turns: number
  growthPerThousandTurns: { heapKb: number; externalKb: number; rssKb: number; handles: number; threads: number }
}

const places: Record<string, () => object> = {
  'a JavaScript storage': () => ({ javascript: true }),
  'the in-memory storage': () => ({ memory: true }),
  SQLite: () => ({ sqlite: { path: join(folder, 'soak.db'), synchronous: 'normal' } }),
  PostgreSQL: () => ({ postgres: { connectionString: postgresUrl(), schema: freshSchema(), maxConnections: 8 } }),
}

describe.each(Object.entries(places))('on %s', (name, place) => {
  it(`${turns} turns of every kind leave heap, memory, handles and threads as they were`, { timeout: 60_000 + turns * 60 }, async () => {
    const told = await run<Told>('soak.mjs', { place: place(), baseURL: provider.url, turns, seed, samples: isLong ? 60 : 20 }, ['--expose-gc'])
    console.log(`on ${name}:`, JSON.stringify(told))
    expect(told.turns).toBeGreaterThanOrEqual(turns)
    const { heapKb, externalKb, rssKb, handles, threads } = told.growthPerThousandTurns
    // In a short run the line is one of noise, and only what leaks with every turn can be told from it: a kilobyte a turn.
    const [heapLimit, rssLimit, countLimit] = isLong ? [15, 150, 0.2] : [1_000, 8_000, 8]
    expect(heapKb).toBeLessThan(heapLimit)
    expect(externalKb).toBeLessThan(heapLimit)
    expect(rssKb).toBeLessThan(rssLimit)
    expect(handles).toBeLessThan(countLimit)
    expect(threads).toBeLessThan(countLimit)
  })
})

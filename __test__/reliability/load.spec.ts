// Many sessions at once against a provider that answers late, refuses, breaks and cuts: turns acknowledged are turns stored, in content
// and order.
//
//   STELLO_LOAD_SESSIONS=2000 STELLO_LOAD_TURNS=50 npx vitest run __test__/reliability/load.spec.ts
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freshSchema, postgresUrl } from '../support/postgres.js'
import { run, startProvider } from './programs.js'
import { seedOfRun } from './random.mjs'

const sessions = Number(process.env.STELLO_LOAD_SESSIONS ?? 60)
const turns = Number(process.env.STELLO_LOAD_TURNS ?? 8)
const seed = seedOfRun()
const folder = await mkdtemp(join(tmpdir(), 'stello-load-'))
let provider: Awaited<ReturnType<typeof startProvider>>
beforeAll(async () => {
  provider = await startProvider({ seed, latencyMs: 8, faults: 0.1 })
})
afterAll(async () => {
  await provider.stop()
  await rm(folder, { recursive: true, force: true })
})

describe.each<[string, () => object]>([
  ['SQLite', () => ({ sqlite: { path: join(folder, 'load.db') } })],
  ['PostgreSQL', () => ({ postgres: { connectionString: postgresUrl(), schema: freshSchema(), maxConnections: 16 } })],
])('on %s', (name, place) => {
  it(`${sessions} sessions with ${turns} turns each, sent and streamed, are stored as they were acknowledged`, { timeout: 60_000 + sessions * turns * 20 }, async () => {
    const told = await run<{ acknowledged: number; stored: number; failed: number }>('load.mjs', { place: place(), baseURL: provider.url, sessions, turns, seed })
    console.log(`on ${name}:`, JSON.stringify(told))
    expect([told.acknowledged, told.stored]).toEqual([sessions * turns, sessions * turns])
    expect(told.failed).toBeGreaterThan(0)
  })
})

// Many processes on one database.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { freshSchema, postgresUrl } from '../support/postgres.js'
import { openPlace, startWriter, wholeTurns, type Place, type Writer } from './processes.js'

const folder = await mkdtemp(join(tmpdir(), 'stello-processes-'))
afterAll(() => rm(folder, { recursive: true, force: true }))

const places: Record<string, () => Place> = {
  SQLite: () => ({ sqlite: { path: join(folder, `${crypto.randomUUID()}.db`) } }),
  PostgreSQL: () => ({ postgres: { connectionString: postgresUrl(), schema: freshSchema(), maxConnections: 4 } }),
}

/** Waits for all of them; answers how many turns each acknowledged. */
async function finish(writers: Writer[]) {
  for (const writer of writers) expect([await writer.ended, writer.complaint()]).toEqual([0, ''])
  return writers.map((writer) => writer.acknowledged().length)
}

describe.each(Object.entries(places))('processes on one %s', (_, make) => {
  it('keep 2 000 turns of eight, none lost and none interleaved', { timeout: 300_000 }, async () => {
    const place = make()
    // Each session is everybody's.
    const sessions = Array.from({ length: 10 }, (__, n) => `s${n}`)
    const writers = Array.from({ length: 8 }, (__, n) => startWriter(place, { name: `${n}`, turns: 250, sessions }))
    expect(await finish(writers)).toEqual(writers.map(() => 250))
    const storage = openPlace(place)
    const stored = await Promise.all(sessions.map(async (id) => wholeTurns(await storage.listRecords(id))))
    await storage.close()
    expect(new Set(stored.flat()).size).toBe(2000)
    expect(stored.flat()).toHaveLength(2000)
    for (const turns of stored) {
      for (const [n] of writers.entries()) {
        const own = turns.filter((turn) => turn.startsWith(`${n}.`)).map((turn) => Number(turn.split('.')[1]))
        expect(own).toEqual(own.toSorted((a, b) => a - b))
      }
    }
  })

  it('start at once, twenty of them, where there is nothing yet', { timeout: 120_000 }, async () => {
    const place = make()
    const writers = Array.from({ length: 20 }, (__, n) => startWriter(place, { name: `${n}`, turns: 2, sessions: ['s', `own ${n}`] }))
    expect(await finish(writers)).toEqual(writers.map(() => 2))
    const storage = openPlace(place)
    expect(wholeTurns(await storage.listRecords('s')).toSorted()).toEqual(writers.map((__, n) => `${n}.0`).toSorted())
    expect(await storage.listSessions()).toHaveLength(21)
    await storage.close()
  })
})

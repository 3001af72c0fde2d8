// A process is killed while it writes, at a random moment, again and again: no half of a turn is ever there, no acknowledged
// turn is ever lost, and the next process works.
//
//   STELLO_KILLS=200 npx vitest run __test__/durability/killed.spec.ts
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { freshSchema, postgresUrl } from '../support/postgres.js'
import { openPlace, startWriter, wholeTurns, type Place, type Writer } from './processes.js'

const kills = Number(process.env.STELLO_KILLS ?? 15)
/** A database is written to by so many processes in a row, so that some are killed while they make it. */
const LIVES = 10
const folder = await mkdtemp(join(tmpdir(), 'stello-killed-'))
afterAll(() => rm(folder, { recursive: true, force: true }))

const places: Record<string, (n: number) => Place> = {
  SQLite: (n) => ({ sqlite: { path: join(folder, `${n}.db`) } }),
  PostgreSQL: () => ({ postgres: { connectionString: postgresUrl(), schema: freshSchema(), maxConnections: 2 } }),
}

describe.each(Object.entries(places))('a process that writes to %s', (name, placeOf) => {
  it(`keeps whole turns and every acknowledged one, killed ${kills} times`, { timeout: 20_000 + kills * 10_000 }, async () => {
    let place = placeOf(0)
    let known: string[] = []
    const told = { killed: 0, 'before its first turn': 0, acknowledged: 0, 'stored but not acknowledged': 0 }
    for (let round = 0; round < kills; round += 1) {
      if (round % LIVES === 0) {
        place = placeOf(round)
        known = []
      }
      const writer = startWriter(place, { name: `${round}`, turns: 1_000_000, sessions: ['s'] })
      // A third is killed while it starts.
      if (round % 3 !== 0) await firstTurn(writer)
      await pause(Math.random() * 300)
      writer.child.kill('SIGKILL')
      expect(await writer.ended, writer.complaint()).toBe('SIGKILL')
      const acknowledged = writer.acknowledged()
      known = await check(place, known.concat(acknowledged), told)
      told.killed += 1
      told.acknowledged += acknowledged.length
      if (acknowledged.length === 0) told['before its first turn'] += 1
    }
    const last = startWriter(place, { name: 'last', turns: 2, sessions: ['s'] })
    expect([await last.ended, last.complaint()]).toEqual([0, ''])
    expect((await check(place, [...known, ...last.acknowledged()], told)).slice(-2)).toEqual(['last.0', 'last.1'])
    console.log(name, told)
  })
})

async function firstTurn(writer: Writer) {
  while (writer.acknowledged().length === 0 && writer.child.exitCode === null) await pause(2)
}

/** Answers the turns that are there now; all of `expected` are among them, once each and in order. */
async function check(place: Place, expected: string[], told: Record<string, number>) {
  const storage = openPlace(place)
  try {
    const [records, insight] = await Promise.all([storage.listRecords('s'), storage.getInsight('s')])
    const turns = wholeTurns(records)
    expect(new Set(turns).size).toBe(turns.length)
    const acknowledged = new Set(expected)
    expect(turns.filter((turn) => acknowledged.has(turn))).toEqual(expected)
    // An insight is spent by the turn that stores it, and by no other.
    const forTurn = insight?.replace('for ', '')
    if (forTurn !== undefined) expect(turns).not.toContain(forTurn)
    told['stored but not acknowledged'] = (told['stored but not acknowledged'] ?? 0) + turns.length - expected.length
    return turns
  } finally {
    await storage.close()
  }
}

// A PostgreSQL server that is stopped and started while sessions write to it.
import { setTimeout as pause } from 'node:timers/promises'
import { PostgresStorageAdapter, StorageError, createSession } from '@stello-ai/session'
import { expect, it } from 'vitest'
import { ownPostgres } from '../../scripts/postgres.mjs'
import { wholeTurns } from './processes.js'

it.each(['SIGINT', 'SIGQUIT'] as const)('turns in flight when the server gets %s fail clearly, later ones work, none is lost or half', { timeout: 120_000 }, async (signal) => {
  const server = await ownPostgres()
  const storage = new PostgresStorageAdapter({ connectionString: server.url, maxConnections: 4 })
  try {
    const llm = { maxContextTokens: 1_000_000, complete: async (messages: Array<{ content: string }>) => ({ content: `re: ${messages.at(-1)?.content}` }) }
    const sessions = await Promise.all(Array.from({ length: 6 }, (_, n) => createSession({ storage, llm, id: `s${n}`, label: '' })))
    const acknowledged = sessions.map((): string[] => [])
    const failures: unknown[] = []
    const stop = new AbortController()
    const writers = sessions.map(async (session, n) => {
      for (let turn = 0; !stop.signal.aborted; turn += 1) {
        try {
          await session.send(`${turn}`)
          acknowledged[n]?.push(`${turn}`)
        } catch (error) {
          failures.push(error)
          await pause(20)
        }
      }
    })
    await pause(300)
    await server.restart(signal)
    const before = acknowledged.map((turns) => turns.length)
    while (acknowledged.some((turns, n) => turns.length < (before[n] ?? 0) + 3)) await pause(10)
    stop.abort()
    await Promise.all(writers)

    expect(failures.length).toBeGreaterThan(0)
    for (const error of failures) {
      expect(error).toBeInstanceOf(StorageError)
      expect(error).toMatchObject({ code: 'unavailable' })
    }
    for (const [n, session] of sessions.entries()) {
      const stored = wholeTurns(await session.messages())
      const known = new Set(acknowledged[n])
      expect(stored.filter((turn) => known.has(turn))).toEqual(acknowledged[n])
      // What was cut while it was committed may be there without having been acknowledged.
      expect(new Set(stored).size).toBe(stored.length)
    }
  } finally {
    await storage.close()
    await server.stop()
  }
})

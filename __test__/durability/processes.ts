// Processes that write to one database, and what must hold of what they wrote.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { PostgresStorageAdapter, SqliteStorageAdapter, type PostgresStorageOptions, type SqliteStorageOptions } from '@stello-ai/session'

/** Where to write. */
export type Place = { sqlite: SqliteStorageOptions } | { postgres: PostgresStorageOptions }

const program = fileURLToPath(new URL('writer.mjs', import.meta.url))

export function openPlace(place: Place) {
  return 'sqlite' in place ? new SqliteStorageAdapter(place.sqlite) : new PostgresStorageAdapter(place.postgres)
}

export interface Writer {
  child: ChildProcess
  /** The contents of the turns that were acknowledged until now. */
  acknowledged(): string[]
  /** What it said went wrong. */
  complaint(): string
  /** Its exit code or signal. */
  ended: Promise<unknown>
}

export function startWriter(place: Place, options: { name: string; turns: number; sessions: string[] }): Writer {
  const child = spawn(process.execPath, [program, JSON.stringify({ ...place, ...options })], { stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  let complaint = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text))
  return {
    child,
    acknowledged: () => out.split('\n').slice(0, -1),
    complaint: () => complaint,
    ended: once(child, 'close').then(([code, signal]) => signal ?? code),
  }
}

/** What one session holds, checked: whole turns only. Answers the content of each, in order. */
export function wholeTurns(records: Array<{ role: string; content: string }>) {
  const turns: string[] = []
  for (let n = 0; n < records.length; n += 2) {
    const [asked, answered] = [records[n], records[n + 1]]
    if (asked?.role !== 'user' || answered?.role !== 'assistant' || answered.content !== `re: ${asked.content}`) {
      throw new Error(`records ${n} and ${n + 1} are no turn: ${JSON.stringify([asked, answered])}`)
    }
    turns.push(asked.content)
  }
  return turns
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { InMemoryStorageAdapter, SqliteStorageAdapter, type MainStorage, type NativeStorage } from '@stello-ai/session'
import { afterAll, afterEach } from 'vitest'
import { MapStorage } from './map-storage.js'
import { postgresStorage } from './postgres.js'

const folder = mkdtempSync(join(tmpdir(), 'stello-storages-'))
const opened: NativeStorage[] = []

afterEach(async () => {
  await Promise.all(opened.splice(0).map((storage) => storage.close()))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0

function kept<S extends NativeStorage>(storage: S) {
  opened.push(storage)
  return storage
}

/** A storage in an SQLite file of its own, closed after the test. */
export function sqliteFile() {
  return kept(new SqliteStorageAdapter({ path: join(folder, `${(files += 1)}.db`), synchronous: 'normal' }))
}

/** A storage in a PostgreSQL schema of its own, closed after the test. */
export function postgresSchema() {
  return kept(postgresStorage())
}

/** The storages that every behaviour must hold on: written in JavaScript, and native. */
export const storages: Array<{ name: string; make: () => MainStorage }> = [
  { name: 'a JavaScript storage', make: () => new MapStorage() },
  { name: 'the native in-memory storage', make: () => new InMemoryStorageAdapter() },
  { name: 'SQLite', make: sqliteFile },
]

/** And for what a database may mangle or order differently. */
export const allStorages = [...storages, { name: 'PostgreSQL', make: postgresSchema }]

/** All that a storage keeps of a session, for comparing before and after. */
export async function contents(storage: MainStorage, id: string) {
  return structuredClone({
    meta: await storage.getSession(id),
    records: await storage.listRecords(id),
    systemPrompt: await storage.getSystemPrompt(id),
    insight: await storage.getInsight(id),
    memory: await storage.getMemory(id),
    sessions: (await storage.listSessions()).length,
  })
}

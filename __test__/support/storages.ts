import { InMemoryStorageAdapter, SqliteStorageAdapter, type MainStorage } from '@stello-ai/session'
import { MapStorage } from './map-storage.js'

/** The storages that every behaviour must hold on: written in JavaScript, and native. */
export const storages: Array<{ name: string; make: () => MainStorage }> = [
  { name: 'a JavaScript storage', make: () => new MapStorage() },
  { name: 'the native in-memory storage', make: () => new InMemoryStorageAdapter() },
  { name: 'SQLite', make: () => new SqliteStorageAdapter({ path: ':memory:' }) },
]

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

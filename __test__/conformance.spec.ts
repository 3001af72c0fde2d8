// One suite, every storage. And the suite itself: each fault that a storage may have is found.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { InMemoryStorageAdapter, SqliteStorageAdapter, type MainStorage, type Message, type SessionMeta } from '@stello-ai/session'
import { storageConformance, storageFeatures, type StorageFeature } from '@stello-ai/session/conformance'
import { afterAll, describe, expect, it } from 'vitest'
import { MapStorage } from './support/map-storage.js'
import { postgresStorage } from './support/postgres.js'

const folder = mkdtempSync(join(tmpdir(), 'stello-conformance-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const storages: Record<string, { make: () => MainStorage & { close?(): Promise<void> }; features: readonly StorageFeature[] }> = {
  'a JavaScript storage': { make: () => new MapStorage(), features: ['main'] },
  'the in-memory storage': { make: () => new InMemoryStorageAdapter(), features: storageFeatures },
  'SQLite in memory': { make: () => new SqliteStorageAdapter({ path: ':memory:' }), features: storageFeatures },
  'an SQLite file': { make: () => new SqliteStorageAdapter({ path: join(folder, `${(files += 1)}.db`), synchronous: 'normal' }), features: storageFeatures },
  PostgreSQL: { make: () => postgresStorage(), features: storageFeatures },
}

describe.each(Object.entries(storages))('%s', (_, { make, features }) => {
  // At once: PostgreSQL makes a schema for each, and mostly waits. An addon that is not optimised takes its time for ten megabytes.
  describe.concurrent('passes the suite', { timeout: 120_000 }, () => {
    const checks = storageConformance(make, { features, dispose: (storage) => storage.close?.() })
    it.for(checks)('$name', async ({ run }) => {
      await expect(run()).resolves.toBeUndefined()
    })
  })
})

/** Storages that are wrong in one way. */
const faults: Record<string, () => MapStorage> = {
  'answers undefined records': () => alter((storage) => (storage.listRecords = async (id) => storage.records.get(id) as Message[])),
  'forgets the records of a session that is put again': () =>
    alter((storage) => {
      storage.putSession = async (session) => {
        storage.records.delete(session.id)
        storage.sessions.set(session.id, session)
      }
    }),
  'merges metadata': () =>
    alter((storage) => {
      storage.putSession = async (session) => {
        const { metadata } = storage.sessions.get(session.id) ?? {}
        storage.sessions.set(session.id, { ...session, metadata: { ...metadata, ...session.metadata } })
      }
    }),
  'orders records by time': () =>
    alter((storage) => {
      storage.listRecords = async (id, options) =>
        (await MapStorage.prototype.listRecords.call(storage, id, options)).toSorted((a, b) => (a.timestamp ?? '').localeCompare(b.timestamp ?? ''))
    }),
  'drops unknown properties': () =>
    alter((storage) => (storage.appendRecord = (id, { role, content, toolCalls, toolCallId, timestamp }) => MapStorage.prototype.appendRecord.call(storage, id, JSON.parse(JSON.stringify({ role, content, toolCalls, toolCallId, timestamp }))))),
  'trims none for zero': () => alter((storage) => (storage.trimRecords = async (id, keep) => void storage.records.set(id, (storage.records.get(id) ?? []).slice(-keep)))),
  'limits before it offsets': () =>
    alter((storage) => {
      storage.listRecords = async (id, { role, offset = 0, limit = Infinity } = {}) =>
        (storage.records.get(id) ?? []).filter((one) => role === undefined || one.role === role).slice(0, limit).slice(offset)
    }),
  'filters by role last': () =>
    alter((storage) => {
      storage.listRecords = async (id, { role, offset = 0, limit = Infinity } = {}) =>
        (storage.records.get(id) ?? []).slice(offset, offset + limit).filter((one) => role === undefined || one.role === role)
    }),
  'takes an empty text for none': () => alter((storage) => (storage.getInsight = async (id) => storage.insights.get(id) || null)),
  'ignores the case of ids': () => alter((storage) => (storage.getSession = async (id) => [...storage.sessions.values()].find((one) => one.id.toLowerCase() === id.toLowerCase()) ?? null)),
  'cuts texts at a NUL': () => alter((storage) => (storage.putMemory = async (id, content) => void storage.memories.set(id, content.split('\0')[0] ?? ''))),
  'replaces lone surrogates': () => alter((storage) => (storage.putMemory = async (id, content) => void storage.memories.set(id, Buffer.from(content).toString()))),
  'sorts keys': () =>
    alter((storage) => (storage.putSession = async (session) => void storage.sessions.set(session.id, { ...session, metadata: sorted(session.metadata) }))),
  'assigns __proto__': () => alter((storage) => (storage.putSession = async (session) => void storage.sessions.set(session.id, { ...session, metadata: assigned(session.metadata) }))),
  'keeps only the first kilobyte': () => alter((storage) => (storage.putMemory = async (id, content) => void storage.memories.set(id, content.slice(0, 1024)))),
  'keeps half of a transaction': () => alter((storage) => (storage.transaction = (fn) => fn(storage))),
  'wraps the error of a transaction': () =>
    alter((storage) => {
      storage.transaction = (fn) =>
        MapStorage.prototype.transaction.call(storage, fn as never).catch((error) => {
          throw new Error('rolled back', { cause: error })
        }) as never
    }),
  'gives nothing from a transaction': () => alter((storage) => (storage.transaction = async (fn) => void (await MapStorage.prototype.transaction.call(storage, fn as never)) as never)),
  'lists any session with one of the tags': () =>
    alter((storage) => (storage.listSessions = async ({ tags } = {}) => [...storage.sessions.values()].filter((session) => tags === undefined || tags.length === 0 || tags.some((tag) => session.tags.includes(tag))))),
  'lists memories of archived sessions': () =>
    alter((storage) => (storage.getAllSessionL2s = async () => [...storage.memories].map(([sessionId, l2]) => ({ sessionId, label: `label of ${sessionId}`, l2 })))),
  'keeps both places of a node that moved': () => {
    const storage = new MapStorage()
    const { putNode, getChildren } = storage
    const all: Array<{ id: string; parentId: string | null; label: string }> = []
    storage.putNode = async (node) => (all.push(node), putNode.call(storage, node))
    storage.getChildren = async (id) => (await getChildren.call(storage, id)).concat(all.filter((node) => node.parentId === id && storage.nodes.get(node.id)?.parentId !== id))
    return storage
  },
  'loses a falsy global': () => alter((storage) => (storage.getGlobal = async (key) => storage.globals.get(key) || null)),
}

function alter(how: (storage: MapStorage) => unknown) {
  const storage = new MapStorage()
  how(storage)
  return storage
}

function sorted(value: SessionMeta['metadata']) {
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function assigned(value: SessionMeta['metadata']) {
  const copy: SessionMeta['metadata'] = {}
  for (const [key, one] of Object.entries(value)) copy[key] = one
  return copy
}

describe('the suite', () => {
  it.each(Object.entries(faults))('finds a storage that %s', async (_, make) => {
    const failed: string[] = []
    for (const { name, run } of storageConformance(make, { features: ['main'] })) await run().catch(() => failed.push(name))
    expect(failed).not.toEqual([])
  })

  it('has no two checks of one name', () => {
    const names = storageConformance(() => new MapStorage(), { features: storageFeatures }).map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
  })

  it('refuses what it cannot check', () => {
    expect(() => storageConformance(() => new MapStorage(), { features: ['speed' as StorageFeature] })).toThrow(/options\.features: expected any of main, .* got "speed"/)
    expect(() => storageConformance(new MapStorage() as never)).toThrow(new TypeError('makeStorage must be a function'))
  })

  it('disposes of every storage, and fails with what the storage failed of', async () => {
    const error = new Error('mine')
    const disposed: MapStorage[] = []
    const make = () => alter((storage) => (storage.getSession = () => Promise.reject(error)))
    const [first] = storageConformance(make, { dispose: (storage) => disposed.push(storage) })
    await expect(first?.run()).rejects.toBe(error)
    expect(disposed).toHaveLength(1)
  })

  it('is the same from require and import, and runs without a test runner', () => {
    const required = createRequire(import.meta.url)('@stello-ai/session/conformance') as typeof import('@stello-ai/session/conformance')
    expect(required.storageFeatures).toEqual(storageFeatures)
    const program = `
      import { storageConformance } from '@stello-ai/session/conformance'
      import { InMemoryStorageAdapter } from '@stello-ai/session'
      const checks = storageConformance(() => new InMemoryStorageAdapter(), { features: ['main'] })
      for (const { run } of checks) await run()
      console.log(checks.length)`
    const passed = execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' })
    expect(Number(passed)).toBe(storageConformance(() => new MapStorage(), { features: ['main'] }).length)
  })
})

// What a storage says when its database cannot do what is asked, and what is left then.
import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, cp, mkdir, mkdtemp, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inspect, promisify } from 'node:util'
import { PostgresStorageAdapter, SqliteStorageAdapter, StorageError, createSession, type NativeStorage, type StorageErrorCode } from '@stello-ai/session'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { deferred, recording } from '../support/adapters.js'
import { freshSchema, postgresStorage, postgresUrl, query } from '../support/postgres.js'
import { wholeTurns } from './processes.js'

const run = promisify(execFile)
const folder = await mkdtemp(join(tmpdir(), 'stello-faults-'))
afterAll(() => rm(folder, { recursive: true, force: true }))

const opened: NativeStorage[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((storage) => storage.close()))
})

function keep<S extends NativeStorage>(storage: S) {
  opened.push(storage)
  return storage
}

const sqlite = (path: string) => keep(new SqliteStorageAdapter({ path, busyTimeoutMs: 300 }))
const program = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** What every use of the storage fails with: reads, writes, transactions and turns alike. */
async function refusal(storage: NativeStorage) {
  const calls = [storage.getMemory('s'), storage.putMemory('s', 'x'), storage.transaction(async () => {}), createSession({ storage })]
  const errors = (await Promise.allSettled(calls)).map((outcome) => (outcome as PromiseRejectedResult).reason)
  for (const error of errors) {
    expect(error).toBeInstanceOf(StorageError)
    expect([error.code, error.message]).toEqual([errors[0].code, errors[0].message])
  }
  return errors[0] as StorageError
}

async function expectRefusal(storage: NativeStorage, code: StorageErrorCode, message: RegExp) {
  const error = await refusal(storage)
  expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)])
  return error
}

/** A file with one turn and a memory in it. */
async function someFile() {
  const path = join(folder, `${crypto.randomUUID()}.db`)
  const storage = new SqliteStorageAdapter({ path })
  await (await createSession({ storage, id: 's', llm: recording(() => ({ content: 're: q' })) })).send('q')
  await storage.putMemory('s', 'memory')
  await storage.close()
  return path
}

/** Writes a number of the file's header: https://www.sqlite.org/fileformat.html#the_database_header */
async function setHeader(path: string, offset: number, value: number) {
  const bytes = await readFile(path)
  bytes.writeUInt32BE(value, offset)
  await writeFile(path, bytes)
}
const USER_VERSION = 60
const APPLICATION_ID = 68

describe('an SQLite file', () => {
  it('that is no database is refused and left alone', async () => {
    const path = join(folder, 'notes.txt')
    await writeFile(path, 'Dear diary, '.repeat(500))
    await expectRefusal(sqlite(path), 'incompatible', /notes\.txt: the file is not an SQLite database/)
    expect(await readFile(path, 'utf8')).toBe('Dear diary, '.repeat(500))
  })

  it('of another application is refused and left alone', async () => {
    const path = await someFile()
    await setHeader(path, APPLICATION_ID, 0)
    const before = await readFile(path)
    await expectRefusal(sqlite(path), 'incompatible', /another application/)
    expect((await readFile(path)).equals(before)).toBe(true)
  })

  it('of a newer version is refused by its number and left alone', async () => {
    const path = await someFile()
    await setHeader(path, USER_VERSION, 99)
    const before = await readFile(path)
    await expectRefusal(sqlite(path), 'incompatible', /schema version 99, this version of the package knows up to \d/)
    expect((await readFile(path)).equals(before)).toBe(true)
    await setHeader(path, USER_VERSION, 1)
    expect(await sqlite(path).getMemory('s')).toBe('memory')
  })

  it('that was cut is refused as damaged', async () => {
    const path = await someFile()
    await truncate(path, (await stat(path)).size / 2)
    const error = await sqlite(path).listRecords('s').then(() => undefined, (reason: unknown) => reason)
    expect(error).toMatchObject({ name: 'StorageError', code: 'incompatible', message: expect.stringMatching(/damaged/) })
  })

  it('in a folder that is missing, or that is a folder, is named; the next call tries again', async () => {
    const missing = join(folder, 'missing')
    const storage = sqlite(join(missing, 'a.db'))
    await expectRefusal(storage, 'unavailable', /a\.db: the database file cannot be opened/)
    await mkdir(missing)
    await storage.putMemory('s', 'works')
    expect(await storage.getMemory('s')).toBe('works')
    await expectRefusal(sqlite(folder), 'unavailable', /cannot be opened/)
  })

  it('that may only be read is read, and refuses writes by name', async () => {
    const path = await someFile()
    const own = join(folder, 'read-only')
    await mkdir(own)
    const [uid, gid] = process.getuid?.() === 0 ? [nobody('-u'), nobody('-g')] : ['', '']
    await cp(path, join(own, 'a.db'))
    if (uid !== '') for (const entry of [own, join(own, 'a.db')]) await chown(entry, Number(uid), Number(gid))
    await chmod(folder, 0o755)
    await chmod(join(own, 'a.db'), 0o444)
    const { stdout } = await run(process.execPath, [program('read-only.mjs'), join(own, 'a.db'), uid, gid])
    expect(JSON.parse(stdout)).toEqual({
      read: { value: 'memory' },
      written: { name: 'StorageError', code: 'not_writable', message: expect.stringContaining('the database is read-only') },
    })
    expect(await sqlite(join(own, 'a.db')).getMemory('s')).toBe('memory')
  })

  it('in a folder that may only be read is refused by name and not damaged', async () => {
    const path = await someFile()
    const own = join(folder, 'closed')
    await mkdir(own)
    await cp(path, join(own, 'a.db'))
    const [uid, gid] = process.getuid?.() === 0 ? [nobody('-u'), nobody('-g')] : ['', '']
    if (uid !== '') for (const entry of [own, join(own, 'a.db')]) await chown(entry, Number(uid), Number(gid))
    await chmod(folder, 0o755)
    await chmod(join(own, 'a.db'), 0o444)
    await chmod(own, 0o555)
    const { stdout } = await run(process.execPath, [program('read-only.mjs'), join(own, 'a.db'), uid, gid])
    const { written } = JSON.parse(stdout)
    expect(written).toMatchObject({ name: 'StorageError', code: expect.stringMatching(/^(not_writable|unavailable)$/), message: expect.stringContaining('a.db') })
    await chmod(own, 0o755)
    await chmod(join(own, 'a.db'), 0o644)
    expect(await sqlite(join(own, 'a.db')).getMemory('s')).toBe('memory')
  })

  it('that cannot grow keeps every acknowledged turn and half of none', async () => {
    const path = join(folder, 'full.db')
    // The shell's limit is in blocks of 512 or 1024 bytes; what passes it is refused to the process as a full disk is.
    const { stdout } = await run('sh', ['-c', 'trap "" XFSZ; ulimit -f 400; exec "$0" "$@"', process.execPath, program('full.mjs'), path], { maxBuffer: 1e8 })
    const { acknowledged, refused, length } = JSON.parse(stdout)
    expect(acknowledged.length).toBeGreaterThan(0)
    expect(refused).toEqual(Array.from({ length: 3 }, () => ({ name: 'StorageError', code: 'not_writable' })))
    expect(length).toBe(acknowledged.length * 2)
    const storage = sqlite(path)
    expect(wholeTurns(await storage.listRecords('s'))).toEqual(acknowledged)
    await storage.putMemory('s', 'room again')
    expect(await storage.getMemory('s')).toBe('room again')
  })
})

function nobody(flag: '-u' | '-g') {
  return execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }).trim()
}

describe('PostgreSQL', () => {
  /** The server's address with something else in it. */
  const elsewhere = (change: (url: URL) => void) => {
    const url = new URL(postgresUrl())
    change(url)
    return url.href
  }
  const secret = 'hunter2 %/?#@:secret'
  const at = (connectionString: string) => keep(new PostgresStorageAdapter({ connectionString, schema: freshSchema(), connectTimeoutMs: 2000 }))
  const url = () => new URL(postgresUrl())

  it.each<[string, () => string | Promise<string>, StorageErrorCode, RegExp]>([
    ['a wrong password', () => elsewhere((u) => (u.password = encodeURIComponent(secret))), 'unavailable', /the database refused the login/],
    ['a wrong password, in pairs', () => `host=${url().hostname} port=${url().port} user=postgres dbname=postgres password='${secret}'`, 'unavailable', /the database refused the login/],
    ['a user who is not there', () => elsewhere((u) => ((u.username = 'nobody_here'), (u.password = encodeURIComponent(secret)))), 'unavailable', /the database refused the login/],
    ['a database that is not there', () => elsewhere((u) => (u.pathname = '/not_here')), 'unavailable', /the database does not exist/],
    ['a setting that is not there', () => `${postgresUrl()}?options=-c%20nothing%3D1`, 'unavailable', /the database refused the connection/],
    ['a port where nobody listens', async () => `postgres://u:${encodeURIComponent(secret)}@127.0.0.1:${await freePort()}/d`, 'unavailable', /the database cannot be reached/],
    ['a host that has no address', () => `postgres://u:${encodeURIComponent(secret)}@nowhere.invalid/d`, 'unavailable', /the database cannot be reached/],
  ])('says %s, and never the password', async (_, connectionString, code, message) => {
    const given = await connectionString()
    const storage = at(given)
    const error = await refusal(storage)
    expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)])
    for (const shown of [shownOf(error), shownOf(storage)]) for (const word of wordsOf(given)) expect(shown).not.toContain(word)
  })

  it('says that a host does not answer, after connectTimeoutMs', async () => {
    const sockets = new Set<{ destroy(): void }>()
    const silent = createServer((socket) => sockets.add(socket)).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const storage = keep(new PostgresStorageAdapter({ connectionString: `postgres://u:${encodeURIComponent(secret)}@127.0.0.1:${port}/d`, connectTimeoutMs: 200 }))
    const error = await refusal(storage)
    expect([error.code, error.message]).toEqual(['unavailable', 'connecting to the database took longer than 200 ms'])
    for (const socket of sockets) socket.destroy()
    silent.close()
  })

  it.each(['postgres://u:hunter2%@h:port/d', 'postgres://u:hunter2@h/d?sslmode=hunter2', 'host=h password=hunter2 nonsense', 'hunter2://', 'postgres://u:hunter2@h:99999999/d'])(
    'refuses the connection string %s without showing it',
    (connectionString) => {
      let error: unknown
      try {
        keep(new PostgresStorageAdapter({ connectionString }))
      } catch (thrown) {
        error = thrown
      }
      expect(error).toBeInstanceOf(TypeError)
      expect(shownOf(error)).not.toContain('u:hunter2')
      expect(shownOf(error)).not.toContain('password=hunter2')
    },
  )

  it('refuses a schema of a newer version by its number, and leaves it alone', async () => {
    const schema = freshSchema()
    await postgresStorage({ schema }).putMemory('s', 'memory')
    await query(`INSERT INTO ${schema}.migrations VALUES (99)`)
    await expectRefusal(keep(postgresStorage({ schema })), 'incompatible', /version 99, this version of the package knows up to \d/)
    await query(`DELETE FROM ${schema}.migrations WHERE version = 99`)
    expect(await keep(postgresStorage({ schema })).getMemory('s')).toBe('memory')
  })

  it('refuses a schema whose tables are there in part, and leaves them alone', async () => {
    const schema = freshSchema()
    await query(`CREATE SCHEMA ${schema}`)
    await query(`CREATE TABLE ${schema}.records (mine text)`)
    await query(`INSERT INTO ${schema}.records VALUES ('kept')`)
    await expectRefusal(keep(postgresStorage({ schema })), 'incompatible', /not those of this storage/)
    expect(await query(`SELECT mine FROM ${schema}.records`)).toEqual([{ mine: 'kept' }])
    const tables = await query(`SELECT table_name FROM information_schema.tables WHERE table_schema = $1`, [schema])
    expect(tables).toEqual([{ table_name: 'records' }])
    await query(`DROP TABLE ${schema}.records`)
    const storage = keep(postgresStorage({ schema }))
    await storage.putMemory('s', 'works')
    expect(await storage.getMemory('s')).toBe('works')
  })

  it('refuses a schema that has lost a table', async () => {
    const schema = freshSchema()
    await keep(postgresStorage({ schema })).putMemory('s', 'memory')
    await query(`DROP TABLE ${schema}.slots`)
    const error = await keep(postgresStorage({ schema })).getMemory('s').then(() => undefined, (reason: unknown) => reason)
    expect(error).toMatchObject({ name: 'StorageError', code: 'incompatible' })
  })

  it('says that a database or a user may only read', async () => {
    const schema = freshSchema()
    await keep(postgresStorage({ schema })).putMemory('s', 'memory')
    const role = freshSchema()
    await query(`CREATE ROLE ${role} LOGIN PASSWORD 'p'`)
    await query(`GRANT USAGE ON SCHEMA ${schema} TO ${role}`)
    await query(`GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${role}`)
    const reader = keep(postgresStorage({ schema, connectionString: elsewhere((u) => ((u.username = role), (u.password = 'p'))) }))
    expect(await reader.getMemory('s')).toBe('memory')
    await expect(reader.putMemory('s', 'new')).rejects.toMatchObject({ name: 'StorageError', code: 'not_writable' })
    const frozen = keep(postgresStorage({ schema, connectionString: `${postgresUrl()}?options=-c%20default_transaction_read_only%3Don` }))
    expect(await frozen.getMemory('s')).toBe('memory')
    await expect(frozen.putMemory('s', 'new')).rejects.toMatchObject({ name: 'StorageError', code: 'not_writable', message: expect.stringContaining('read-only') })
  })

  it('whose connections are all in use is waited for, and then fails by name', async () => {
    const storage = keep(postgresStorage({ maxConnections: 1, connectTimeoutMs: 300 }))
    await storage.putMemory('s', '1')
    const held = deferred()
    const inside = deferred()
    const holder = storage.transaction(async () => {
      inside.resolve()
      await held.promise
    })
    await inside.promise
    await expect(storage.getMemory('s')).rejects.toMatchObject({ name: 'StorageError', code: 'timeout', message: expect.stringMatching(/all 1 connections \(maxConnections\) stayed in use for 300 ms/) })
    const waiting = storage.getMemory('s')
    held.resolve()
    await holder
    expect(await waiting).toBe('1')
  })

  it('does not wait for a pool in a transaction, which has its connection', async () => {
    const storage = keep(postgresStorage({ maxConnections: 2, connectTimeoutMs: 5000 }))
    const llm = recording(() => ({ content: 'yes' }))
    const made = await Promise.all(['a', 'b', 'c', 'd'].map((id) => createSession({ storage, llm, id })))
    await Promise.all(made.map((session) => storage.transaction(async (tx) => void (await Promise.all([session.send('x'), tx.putMemory(session.meta.id, 'm'), storage.putInsight(session.meta.id, 'i')])))))
    for (const session of made) expect([await session.memory(), (await session.messages()).length]).toEqual(['m', 2])
  })

  it('that ends a connection fails what is under way and works again', async () => {
    const name = freshSchema().slice(0, 40)
    const storage = keep(postgresStorage({ maxConnections: 2, connectionString: elsewhere((u) => u.searchParams.set('application_name', name)) }))
    const session = await createSession({ storage, id: 's', llm: recording(() => ({ content: 're: q' })) })
    const end = () => query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [name])
    const cut = storage.transaction(async (tx) => {
      await tx.putMemory('s', 'lost')
      await end()
      await tx.putMemory('s', 'lost too')
    })
    await expect(cut).rejects.toMatchObject({ name: 'StorageError', code: expect.stringMatching(/^(unavailable|transaction)$/) })
    await end()
    expect((await session.send('q')).content).toBe('re: q')
    expect([await session.memory(), wholeTurns(await session.messages())]).toEqual([null, ['q']])
  })
})

/** All that a developer may see of a value. */
function shownOf(value: unknown): string {
  const { message, stack, cause } = (value ?? {}) as { message?: unknown; stack?: unknown; cause?: unknown }
  const deep = inspect(value, { depth: 20, showHidden: true, getters: true })
  return [deep, JSON.stringify(value), String(value), message, stack, cause === undefined ? '' : shownOf(cause)].join('\n')
}

/** The password as it may appear: as given, and decoded. */
function wordsOf(connectionString: string) {
  const { password } = connectionString.includes('://') ? new URL(connectionString) : { password: /password='([^']*)'/.exec(connectionString)?.[1] ?? '' }
  return [password, decodeURIComponent(password.replaceAll(/%(?![0-9a-f]{2})/gi, '%25'))]
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}

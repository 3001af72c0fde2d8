// @ts-check
// What the durable storages cost beside the drivers that JavaScript has for the same databases: better-sqlite3 and pg, doing
// the same statements on the same tables, alternating with ours in one run.
//
//   node bench/storage.mjs [--small]
//
// Prints Markdown tables. Needs a release build of the addon for figures that mean something.
import Database from 'better-sqlite3'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { Pool } from 'pg'
import { ownPostgres } from '../scripts/postgres.mjs'

/** @typedef {import('../index.js').Message} Message */
/** @typedef {import('../index.js').NativeStorage} NativeStorage */

const { PostgresStorageAdapter, SqliteStorageAdapter, createSession, loadSession } = await import('../src/js/index.mjs')

const small = process.argv.includes('--small')
/** Sides take turns in short rounds: how fast a disk is changes from second to second. */
const TURNS = 16
const ROUNDS = small ? 8 : 120
const READS = small ? [10, 1000] : [10, 1000, 100_000]
/** Messages that a session holds before a turn: what a turn reads. */
const HISTORY = 10
const TEXT = 'A sentence of about a hundred characters, as people write them when they talk to a model all day. '.repeat(4)

const folder = mkdtempSync(join(tmpdir(), 'stello-bench-'))
const server = await ownPostgres()
try {
  console.log(`Node ${process.version}, ${process.arch}; medians of ${ROUNDS} rounds of ${TURNS} turns, each side in turn.\n`)
  console.log('| turns per second | ours | a session on the driver | ratio | bar | the driver alone |\n| --- | ---: | ---: | ---: | ---: | ---: |')
  for (const synchronous of /** @type {const} */ (['full', 'normal'])) {
    for (const atOnce of [1, 16]) await turns(`SQLite, synchronous ${synchronous}, ${atOnce} at once`, sqlitePair(synchronous), atOnce, 0.9)
  }
  for (const atOnce of [1, 16]) await turns(`PostgreSQL, ${atOnce} at once`, await postgresPair(), atOnce, 1)

  console.log('\n| milliseconds to read | ours | driver | ratio |\n| --- | ---: | ---: | ---: |')
  for (const [name, pair] of /** @type {const} */ ([['SQLite', sqlitePair('full')], ['PostgreSQL', await postgresPair()]])) {
    for (const count of READS) await reads(name, pair, count)
    await pair.close()
  }

  console.log('\n| opening a session and sending, ms | first send | later send |\n| --- | ---: | ---: |')
  for (const count of READS) await longSession(count)
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}

/**
 * @typedef {{ systemPrompt: string | null, insight: string | null, records: Message[] }} Loaded
 */

/**
 * One database, seen by our storage and by a driver.
 *
 * @typedef {object} Pair
 * @property {NativeStorage} storage
 * @property {(id: string) => Loaded | Promise<Loaded>} load what a turn reads
 * @property {(id: string, messages: string[]) => unknown} append the JSON of messages, in one transaction
 * @property {(id: string) => unknown} read all messages of a session
 * @property {() => Promise<unknown>} close
 */

/**
 * @param {'full' | 'normal'} synchronous
 * @returns {Pair}
 */
function sqlitePair(synchronous) {
  const path = join(folder, `${crypto.randomUUID()}.db`)
  const storage = new SqliteStorageAdapter({ path, synchronous })
  /** @type {ReturnType<typeof prepare> | undefined} */
  let driver
  const prepare = () => {
    const db = new Database(path)
    db.pragma('busy_timeout = 30000')
    db.pragma(`synchronous = ${synchronous}`)
    db.pragma('journal_size_limit = 67108864')
    const history = db.prepare('SELECT number, revision FROM sessions WHERE id = ?')
    const cache = db.prepare('SELECT summary, compressed_count, fingerprint, last_seq FROM caches WHERE session = ? AND fingerprint = ? AND last_seq IS NOT NULL')
    const records = db.prepare('SELECT message FROM records WHERE key BETWEEN ? AND ? ORDER BY key').pluck()
    const slot = db.prepare('SELECT content FROM slots WHERE session = (SELECT number FROM sessions WHERE id = ?) AND name = ?').pluck()
    const take = db.prepare('UPDATE sessions SET next_seq = next_seq + ? WHERE id = ? RETURNING number, next_seq - ? AS seq')
    const insert = db.prepare('INSERT INTO records (key, role, message) VALUES (?, ?, ?)')
    const load = db.transaction((/** @type {string} */ id) => {
      const { number, revision } = /** @type {{ number: number, revision: number }} */ (history.get(id))
      cache.get(number, `${number}.${revision}`)
      const all = records.all(number * 2 ** 32 + 1, number * 2 ** 32 + 2 ** 32 - 1).map((json) => JSON.parse(/** @type {string} */ (json)))
      const text = (/** @type {string} */ name) => /** @type {string | undefined} */ (slot.get(id, name)) ?? null
      return { systemPrompt: text('system_prompt'), insight: text('insight'), records: all }
    })
    const append = db.transaction((/** @type {string} */ id, /** @type {string[]} */ messages) => {
      const { number, seq } = /** @type {{ number: number, seq: number }} */ (take.get(messages.length, id, messages.length))
      for (const [n, message] of messages.entries()) insert.run(number * 2 ** 32 + seq + n, n % 2 === 0 ? 'user' : 'assistant', message)
    })
    return { db, load, append: append.immediate, records, history }
  }
  return {
    storage,
    load(id) {
      driver ??= prepare()
      return driver.load(id)
    },
    append(id, messages) {
      driver ??= prepare()
      driver.append(id, messages)
    },
    read(id) {
      driver ??= prepare()
      const { number } = /** @type {{ number: number }} */ (driver.history.get(id))
      return driver.records.all(number * 2 ** 32, number * 2 ** 32 + 2 ** 32 - 1).map((json) => JSON.parse(/** @type {string} */ (json)))
    },
    async close() {
      driver?.db.close()
      await storage.close()
    },
  }
}

/** @returns {Promise<Pair>} */
async function postgresPair() {
  const schema = `bench_${crypto.randomUUID().replaceAll('-', '')}`
  const storage = new PostgresStorageAdapter({ connectionString: server.url, schema, maxConnections: 16 })
  await storage.getMemory('none') // makes the tables
  const pool = new Pool({ connectionString: server.url, max: 16 })
  const load = `WITH h AS MATERIALIZED (
      SELECT number, number || '.' || revision AS fingerprint FROM ${schema}.sessions WHERE id = $1),
    c AS MATERIALIZED (
      SELECT summary, compressed_count, last_seq FROM ${schema}.caches
      WHERE session = (SELECT number FROM h) AND last_seq IS NOT NULL AND fingerprint = (SELECT fingerprint FROM h))
    SELECT 'history', fingerprint, NULL::bigint FROM h
    UNION ALL SELECT 'cache', summary, compressed_count FROM c
    UNION ALL SELECT name, content, NULL FROM ${schema}.slots WHERE session = (SELECT number FROM h) AND name IN ('system_prompt', $2)
    UNION ALL SELECT 'record', message, seq FROM ${schema}.records
      WHERE session = (SELECT number FROM h) AND seq > coalesce((SELECT last_seq FROM c), 0)`
  const append = (/** @type {string} */ id, /** @type {string[]} */ messages) => {
    const same = (/** @type {unknown} */ value) => messages.map(() => value)
    const roles = messages.map((_, n) => (n % 2 === 0 ? 'user' : 'assistant'))
    return pool.query(`SELECT ${schema}.apply($1, $2, $3, $4, $5, $6, $7)`, [same('append'), same(id), roles, messages, same(null), same(null), 60_000])
  }
  return {
    storage,
    async load(id) {
      const { rows } = await pool.query({ text: load, values: [id, 'insight'], rowMode: 'array' })
      const text = (/** @type {string} */ name) => rows.find((row) => row[0] === name)?.[1] ?? null
      return { systemPrompt: text('system_prompt'), insight: text('insight'), records: rows.filter(([name]) => name === 'record').map((row) => JSON.parse(row[1])) }
    },
    async read(id) {
      const sql = `SELECT message FROM ${schema}.records WHERE session = (SELECT number FROM ${schema}.sessions WHERE id = $1) ORDER BY seq`
      const { rows } = await pool.query({ text: sql, values: [id], rowMode: 'array' })
      return rows.map(([json]) => JSON.parse(json))
    },
    append,
    async close() {
      await pool.end()
      await storage.close()
    },
  }
}

/**
 * @param {string} content
 * @returns {string[]}
 */
function turnOf(content) {
  const timestamp = new Date().toISOString()
  return [
    { role: 'user', content, timestamp },
    { role: 'assistant', content: TEXT, timestamp },
  ].map((message) => JSON.stringify(message))
}

/**
 * The driver as a storage written in JavaScript, with the statements of ours: one read of all that a turn reads, one
 * transaction of all that it stores.
 *
 * @param {Pair} pair
 * @returns {import('../index.js').SessionStorage}
 */
function driverStorage(pair) {
  const { storage } = pair
  /** @type {Map<string, Promise<Loaded>>} */
  const loading = new Map()
  const load = (/** @type {string} */ id) => {
    let all = loading.get(id)
    if (all === undefined) {
      all = Promise.resolve(pair.load(id)).finally(() => loading.delete(id))
      loading.set(id, all)
    }
    return all
  }
  const unused = {
    putSystemPrompt: storage.putSystemPrompt.bind(storage),
    putInsight: storage.putInsight.bind(storage),
    clearInsight: storage.clearInsight.bind(storage),
    getMemory: storage.getMemory.bind(storage),
    putMemory: storage.putMemory.bind(storage),
    getSession: storage.getSession.bind(storage),
    putSession: storage.putSession.bind(storage),
    trimRecords: storage.trimRecords.bind(storage),
  }
  const loaded = {
    getSystemPrompt: async (/** @type {string} */ id) => (await load(id)).systemPrompt,
    getInsight: async (/** @type {string} */ id) => (await load(id)).insight,
    listRecords: async (/** @type {string} */ id) => (await load(id)).records,
  }
  return {
    ...unused,
    ...loaded,
    appendRecord: async (id, record) => void (await pair.append(id, [JSON.stringify(record)])),
    async transaction(fn) {
      /** @type {Map<string, string[]>} */
      const appended = new Map()
      const result = await fn({
        ...unused,
        ...loaded,
        async appendRecord(id, record) {
          appended.set(id, [...(appended.get(id) ?? []), JSON.stringify(record)])
        },
        transaction: () => Promise.reject(new Error('no turn nests transactions')),
      })
      for (const [id, messages] of appended) await pair.append(id, messages)
      return result
    },
  }
}

/**
 * Whole turns of sessions, on our storage and on one over the driver; and the driver's statements alone.
 *
 * @param {string} name
 * @param {Pair} pair
 * @param {number} atOnce
 * @param {number} bar
 */
async function turns(name, pair, atOnce, bar) {
  const llm = { maxContextTokens: 1_000_000, complete: async () => ({ content: TEXT }) }
  const onDriver = driverStorage(pair)
  const open = async (/** @type {import('../index.js').SessionStorage} */ storage, /** @type {string} */ side) => {
    const sessions = await Promise.all(Array.from({ length: atOnce }, (_, n) => createSession({ storage, llm, id: `${side} ${n}`, label: '' })))
    for (const { meta } of sessions) await pair.append(meta.id, Array.from({ length: HISTORY / 2 }, () => turnOf(TEXT)).flat())
    return sessions
  }
  const each = Math.ceil(TURNS / atOnce)
  const [ours, driver, alone] = [await open(pair.storage, 'ours'), await open(onDriver, 'driver'), await open(pair.storage, 'alone')]
  const sides = [
    { seconds: /** @type {number[]} */ ([]), sessions: ours, turn: sendText },
    { seconds: /** @type {number[]} */ ([]), sessions: driver, turn: sendText },
    {
      seconds: /** @type {number[]} */ ([]),
      sessions: alone,
      async turn(/** @type {typeof ours[number]} */ { meta }) {
        await pair.load(meta.id)
        await pair.append(meta.id, turnOf(TEXT))
      },
    },
  ]
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { seconds, sessions, turn } of sides) {
      const began = performance.now()
      await Promise.all(
        sessions.map(async (session) => {
          for (let n = 0; n < each; n += 1) await turn(session)
        }),
      )
      // The first rounds warm up.
      if (round >= ROUNDS / 4) seconds.push((performance.now() - began) / 1000)
      // So that a turn reads as much in every round.
      for (const { meta } of sessions) await pair.storage.trimRecords(meta.id, HISTORY)
    }
    sides.push(...sides.splice(0, 1))
  }
  const perSecond = (/** @type {typeof ours} */ sessions) => (each * atOnce) / median(sides.find((side) => side.sessions === sessions)?.seconds ?? [])
  const [a, b, c] = [ours, driver, alone].map(perSecond)
  console.log(`| ${name} | ${a?.toFixed()} | ${b?.toFixed()} | ${(Number(a) / Number(b)).toFixed(2)} | ${bar.toFixed(1)} | ${c?.toFixed()} |`)
  await pair.close()
}

/**
 * @param {string} name
 * @param {Pair} pair
 * @param {number} count
 */
async function reads(name, pair, count) {
  const id = `read ${count}`
  await createSession({ storage: pair.storage, id })
  await pair.append(id, Array.from({ length: count / 2 }, () => turnOf(TEXT)).flat())
  /** @type {{ ours: number[], driver: number[] }} */
  const times = { ours: [], driver: [] }
  const rounds = count > 10_000 ? 5 : 30
  for (let round = 0; round <= rounds; round += 1) {
    for (const [side, read] of /** @type {const} */ ([['ours', () => pair.storage.listRecords(id)], ['driver', async () => pair.read(id)]])) {
      const began = performance.now()
      const { length } = /** @type {unknown[]} */ (await read())
      if (round > 0) times[side].push(performance.now() - began)
      if (length !== count) throw new Error(`${name}: read ${length} records of ${count}`)
    }
  }
  const [ours, driver] = [median(times.ours), median(times.driver)]
  console.log(`| ${count} records, ${name} | ${ours.toFixed(2)} | ${driver.toFixed(2)} | ${(ours / driver).toFixed(2)} |`)
}

/**
 * A long session whose beginning is summarised: what a reload and a turn cost.
 *
 * @param {number} count
 */
async function longSession(count) {
  for (const [name, pair] of /** @type {const} */ ([['SQLite', sqlitePair('normal')], ['PostgreSQL', await postgresPair()]])) {
    const { storage } = pair
    // A window that the newest twenty messages or so fill.
    const llm = { maxContextTokens: 4000, complete: async () => ({ content: TEXT }) }
    const made = await createSession({ storage, id: 'long', llm, compressFn: summarise, label: '' })
    // In parts, so that what was written is moved out of the log on the way.
    for (let n = 0; n < count; n += 1000) await pair.append('long', Array.from({ length: Math.min(count - n, 1000) / 2 }, () => turnOf(TEXT)).flat())
    await made.send('Summarises what is there.')
    /** @type {{ first: number[], later: number[] }} */
    const times = { first: [], later: [] }
    for (let round = 0; round < (small ? 3 : 9); round += 1) {
      const began = performance.now()
      const session = await loadSession('long', { storage, llm, compressFn: summarise })
      await session?.send('And now?')
      const between = performance.now()
      await session?.send('And now?')
      times.first.push(between - began)
      times.later.push(performance.now() - between)
    }
    console.log(`| ${count} records, ${name} | ${median(times.first).toFixed(2)} | ${median(times.later).toFixed(2)} |`)
    await pair.close()
  }
}

/** @param {import('../index.js').Session} session */
function sendText(session) {
  return session.send(TEXT)
}

async function summarise() {
  return 'What was said before.'
}

/** @param {number[]} numbers */
function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

// Plants a panic at one place after another in an addon built for it, and tells what the caller saw, what was stored, and
// whether the same call worked right after: process.argv has a provider's base URL, a connection string and the addon.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageWith } from './with-addon.mjs'

const [baseURL, connectionString = '', addon = ''] = process.argv.slice(2)
/** @type {{ plant(place?: string): void }} */
const { plant } = createRequire(import.meta.url)(addon)
const { createOpenAICompatibleAdapter, createSession, InMemoryStorageAdapter, PostgresStorageAdapter, SqliteStorageAdapter } = await packageWith(addon)
const folder = mkdtempSync(join(tmpdir(), 'stello-panics-'))
let files = 0

const storages = {
  memory: () => new InMemoryStorageAdapter(),
  sqlite: () => new SqliteStorageAdapter({ path: join(folder, `${++files}.db`) }),
  sqliteMemory: () => new SqliteStorageAdapter({ path: ':memory:' }),
  postgres: () => new PostgresStorageAdapter({ connectionString, schema: `panics_${randomUUID().replaceAll('-', '')}`, maxConnections: 2 }),
}
const javaScript = { maxContextTokens: 1000, complete: async () => ({ content: 'answer' }) }
const native = createOpenAICompatibleAdapter({ baseURL, model: 'm', apiKey: '', maxContextTokens: 1000 })

/** @typedef {import('@stello-ai/session').Session} Session */
/** @typedef {{ session: Session, storage: any }} Given */

/** @type {Record<string, (given: Given) => Promise<unknown>>} */
const calls = {
  send: ({ session }) => session.send('hello'),
  stream: async ({ session }) => {
    const stream = session.stream('hello')
    for await (const _ of stream);
    return stream.result
  },
  streamResult: ({ session }) => session.stream('hello').result,
  compress: ({ session }) => session.send('long '.repeat(900)),
  systemPrompt: ({ session }) => session.systemPrompt(),
  setInsight: ({ session }) => session.setInsight('insight'),
  transaction: ({ storage, session }) => storage.transaction(async (/** @type {any} */ tx) => tx.getInsight(session.meta.id)),
  storageRead: ({ storage, session }) => storage.getInsight(session.meta.id),
  storageWrite: ({ storage, session }) => storage.putInsight(session.meta.id, 'i'),
  adapter: () => native.complete([{ role: 'user', content: 'hello' }]),
}

/** Place, storage, adapter, call. */
const kinds = /** @type {const} */ (['memory', 'sqlite', 'sqliteMemory', 'postgres'])
const cases = [
  ...kinds.flatMap((storage) =>
    [native, javaScript].flatMap((llm) => [
      ...['turn.planned', 'turn.answered', 'bridge.turn'].flatMap((place) => [[place, storage, llm, 'send'], [place, storage, llm, 'stream'], [place, storage, llm, 'streamResult']]),
      ['turn.compress', storage, llm, 'compress'],
      ['bridge.invoke', storage, llm, 'setInsight'],
      ['bridge.invoke', storage, llm, 'systemPrompt'],
    ]),
  ),
  ...kinds.flatMap((storage) => [
    ['llm.request', storage, native, 'send'],
    ['llm.request', storage, native, 'stream'],
    ['llm.whole', storage, native, 'send'],
    ['llm.event', storage, native, 'stream'],
    ['pieces', storage, native, 'stream'],
    ['bridge.answer', storage, javaScript, 'send'],
  ]),
  ['llm.request', 'memory', native, 'adapter'],
  ['llm.whole', 'memory', native, 'adapter'],
  ...[['memory.change', 'memory'], ['sqlite.read', 'sqlite'], ['sqlite.write', 'sqlite'], ['sqlite.commit', 'sqlite'], ['sqlite.write', 'sqliteMemory'], ['postgres.read', 'postgres'], ['postgres.write', 'postgres']].flatMap(([place, storage]) =>
    [native, javaScript].flatMap((llm) => [[place, storage, llm, 'send'], [place, storage, llm, 'stream']]),
  ),
  ...[['memory.read', 'memory', 'storageRead'], ['memory.change', 'memory', 'storageWrite'], ['sqlite.read', 'sqlite', 'storageRead'], ['sqlite.write', 'sqlite', 'storageWrite'], ['sqlite.commit', 'sqlite', 'storageWrite'], ['sqlite.within', 'sqlite', 'transaction'], ['sqlite.commit', 'sqlite', 'transaction'], ['sqlite.begin', 'sqliteMemory', 'transaction'], ['memory.read', 'memory', 'transaction'], ['postgres.read', 'postgres', 'storageRead'], ['postgres.write', 'postgres', 'storageWrite'], ['postgres.within', 'postgres', 'transaction']].map(([place, storage, call]) => [place, storage, javaScript, call]),
]

const told = []
try {
  for (const [place, kind, llm, name] of /** @type {[string, keyof storages, any, string][]} */ (cases)) {
    const storage = storages[kind]()
    const session = await createSession({ storage, llm, compressFn: async () => 'summary' })
    await session.send('one')
    if (name === 'compress') await session.send('long '.repeat(900))
    const call = () => calls[name]?.({ session, storage })
    const before = (await session.messages()).length
    plant(place)
    /** @type {any} */
    const error = await new Promise((resolve) => resolve(call())).then(() => undefined, (/** @type {unknown} */ reason) => reason)
    plant()
    const between = (await session.messages()).length
    const again = await call()?.then(() => 'works', (/** @type {any} */ reason) => String(reason))
    const after = (await session.messages()).length
    await storage.close()
    told.push({ place, storage: kind, adapter: llm === native ? 'native' : 'javascript', call: name, error: error === undefined ? 'none' : `${error.name}: ${error.message}`, kept: between === before, again, added: after - between })
  }
} finally {
  rmSync(folder, { recursive: true })
}
console.log(JSON.stringify(told))

// Makes sessions of every kind, holds turns in them, lets go of them, and tells what is left.
import { getEventListeners } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { createMainSession, createOpenAICompatibleAdapter, createSession, InMemoryStorageAdapter, SqliteStorageAdapter } from '@stello-ai/session'

const [count, baseURL] = [Number(process.argv[2]), process.argv[3]]
const threads = () => (existsSync('/proc/self/task') ? readdirSync('/proc/self/task').length : 0)
const collect = /** @type {() => void} */ (globalThis.gc)
const signal = new AbortController().signal

/** A storage and an adapter written in JavaScript, as small as they can be. */
function javaScriptStorage() {
  const sessions = new Map()
  const records = new Map()
  return /** @type {any} */ ({
    getSession: (/** @type {string} */ id) => sessions.get(id),
    putSession: (/** @type {any} */ meta) => void sessions.set(meta.id, meta),
    getSystemPrompt: () => null,
    putSystemPrompt: () => {},
    getInsight: () => null,
    getMemory: () => null,
    listRecords: (/** @type {string} */ id) => records.get(id) ?? [],
    appendRecord: (/** @type {string} */ id, /** @type {any} */ record) => void records.set(id, [...(records.get(id) ?? []), record]),
  })
}
const javaScript = { maxContextTokens: 1000, complete: async () => ({ content: 'answer' }) }
const native = createOpenAICompatibleAdapter({ baseURL, model: 'm', apiKey: '', maxContextTokens: 1000 })

/** @type {WeakRef<object>[]} */
const dropped = []

/** @param {any} storage */
async function use(storage, /** @type {number} */ n) {
  const llm = n % 4 === 0 ? native : javaScript
  const make = n % 5 === 0 ? createMainSession : createSession
  const session = await make({ storage, llm, systemPrompt: 'P', compressFn: async () => 'summary' })
  dropped.push(new WeakRef(session))
  await session.send('hello', { signal })
  const stream = session.stream('again', { signal })
  for await (const _ of stream) break
  await stream.result
  dropped.push(new WeakRef(stream), new WeakRef(session.stream('whom nobody reads')))
  if (n % 4 === 0) {
    const own = createOpenAICompatibleAdapter({ baseURL, model: 'm', apiKey: '', maxContextTokens: 1000 })
    dropped.push(new WeakRef(own))
    await own.complete([{ role: 'user', content: 'hello' }])
  }
  await storage.transaction?.(async (/** @type {any} */ tx) => void dropped.push(new WeakRef(tx)))
  const child = await session.fork({ label: 'child', context: (records) => records })
  dropped.push(new WeakRef(child))
  const controller = new AbortController()
  const aborted = child.send('never', { signal: controller.signal })
  controller.abort()
  await aborted.catch(() => {})
}

/** Without a close: what nobody refers to any more is closed for them. */
async function useAll() {
  const storages = [javaScriptStorage(), new InMemoryStorageAdapter(), new SqliteStorageAdapter({ path: ':memory:' })]
  for (let n = 0; n < count / 2; n++) await use(storages[n % 3], n)
  for (const storage of storages) dropped.push(new WeakRef(storage))
}

await use(new InMemoryStorageAdapter(), 0)
await use(new InMemoryStorageAdapter(), 1)
const before = threads()
await useAll()
const made = dropped.length
let left = made
for (let round = 0; round < 200 && (left > 0 || threads() > before); round++) {
  // What a weak reference has just shown stays alive until the event loop goes on.
  await setImmediate()
  collect()
  await setImmediate()
  left = dropped.filter((reference) => reference.deref() !== undefined).length
}
const resources = process.getActiveResourcesInfo().filter((name) => !/^(TTYWrap|PipeWrap|Immediate)$/.test(name))
console.log(JSON.stringify({ made, left, listeners: getEventListeners(signal, 'abort').length, resources, threads: Math.max(0, threads() - before) }))

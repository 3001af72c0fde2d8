// Storages and models by their names, for programs that are told with which to work.
import { createOpenAICompatibleAdapter, InMemoryStorageAdapter, PostgresStorageAdapter, SqliteStorageAdapter } from '@stello-ai/session'
import { setTimeout as pause } from 'node:timers/promises'
import { answerTo } from './random.mjs'

/** @import { LLMAdapter, MainStorage, Message, NativeStorage } from '@stello-ai/session' */

/**
 * A storage in JavaScript, as small as one with transactions can be.
 *
 * @returns {MainStorage & { close(): Promise<void>, deleteSession(id: string): Promise<void> }}
 */
export function javaScriptStorage() {
  /** @type {Record<string, Map<string, any>>} */
  let kept = { meta: new Map(), records: new Map(), prompt: new Map(), insight: new Map(), memory: new Map(), node: new Map() }
  /** @type {(name: string) => (id: string) => Promise<any>} */
  const get = (name) => async (id) => kept[name]?.get(id) ?? null
  /** @type {(name: string) => (id: string, value: any) => Promise<void>} */
  const put = (name) => async (id, value) => void kept[name]?.set(id, value)
  const storage = {
    getSession: get('meta'),
    putSession: async (/** @type {any} */ meta) => void kept.meta?.set(meta.id, meta),
    listSessions: async () => [...(kept.meta?.values() ?? [])],
    appendRecord: async (/** @type {string} */ id, /** @type {Message} */ record) => void kept.records?.set(id, [...(kept.records.get(id) ?? []), record]),
    listRecords: async (/** @type {string} */ id) => kept.records?.get(id) ?? [],
    trimRecords: async (/** @type {string} */ id, /** @type {number} */ count) => void kept.records?.set(id, count === 0 ? [] : kept.records.get(id)?.slice(-count) ?? []),
    getSystemPrompt: get('prompt'),
    putSystemPrompt: put('prompt'),
    getInsight: get('insight'),
    putInsight: put('insight'),
    clearInsight: async (/** @type {string} */ id) => void kept.insight?.delete(id),
    getMemory: get('memory'),
    putMemory: put('memory'),
    getNode: get('node'),
    putNode: async (/** @type {any} */ node) => void kept.node?.set(node.id, node),
    removeNode: async (/** @type {string} */ id) => void kept.node?.delete(id),
    getChildren: async (/** @type {string | null} */ parent) => [...(kept.node?.values() ?? [])].filter(({ parentId }) => parentId === parent),
    getAllSessionL2s: async () => [],
    getGlobal: async () => null,
    putGlobal: async () => {},
    deleteSession: async (/** @type {string} */ id) => Object.values(kept).forEach((map) => map.delete(id)),
    close: async () => {},
    /** @param {(tx: any) => Promise<any>} fn */
    async transaction(fn) {
      const before = Object.fromEntries(Object.entries(kept).map(([name, map]) => [name, new Map(map)]))
      try {
        return await fn(storage)
      } catch (error) {
        kept = before
        throw error
      }
    },
  }
  return /** @type {any} */ (storage)
}

/**
 * @param {{ javascript?: true, memory?: true, sqlite?: import('@stello-ai/session').SqliteStorageOptions, postgres?: import('@stello-ai/session').PostgresStorageOptions }} place
 * @returns {MainStorage & Pick<NativeStorage, 'close' | 'deleteSession'>}
 */
export function openPlace({ javascript, sqlite, postgres }) {
  if (javascript === true) return javaScriptStorage()
  if (sqlite !== undefined) return new SqliteStorageAdapter(sqlite)
  return postgres === undefined ? new InMemoryStorageAdapter() : new PostgresStorageAdapter(postgres)
}

/**
 * @param {string | undefined} baseURL of the provider; without one, a model in JavaScript that takes up to `latencyMs`
 * @param {() => number} chance
 * @param {number} [maxRetries]
 * @returns {LLMAdapter}
 */
export function openModel(baseURL, chance, maxRetries = 0) {
  if (baseURL !== undefined) return createOpenAICompatibleAdapter({ baseURL, model: 'm', apiKey: '', maxContextTokens: 1_000_000, maxRetries })
  const wait = async () => {
    const ms = chance() * 5
    if (ms >= 1) await pause(ms)
  }
  return {
    maxContextTokens: 1_000_000,
    async complete(messages) {
      await wait()
      return { content: answerTo(messages.at(-1)?.content ?? '') }
    },
    async *stream(messages) {
      for (const delta of answerTo(messages.at(-1)?.content ?? '').match(/.{1,12}/gsu) ?? []) {
        if (chance() < 0.3) await wait()
        yield { delta }
      }
    },
  }
}

// A storage of one's own: everything in memory, and a journal on disk that it is read back from.
//
// Each line of the journal is one transaction, a list of calls as JSON. A transaction is stored when its line is on the
// disk as a whole: a crash may leave half a line at the end, which the next start drops. For one process at a time; the
// journal is never shortened.
import { open } from 'node:fs/promises'

/** @import { FileHandle } from 'node:fs/promises' */
/** @import { CompressionCacheSnapshot, ListRecordsOptions, MainStorage, Message, SessionFilter, SessionMeta, TopologyNode } from '@stello-ai/session' */

/**
 * What is kept under the id of a session.
 *
 * @typedef {{ meta?: SessionMeta, records: Message[], systemPrompt?: string, insight?: string, memory?: string, cache?: CompressionCacheSnapshot }} Entry
 */

/** All that is stored. Entries are replaced, never altered, so that a transaction can begin with a copy of the Maps. */
class State {
  /** @type {Map<string, Entry>} */
  entries
  /** @type {Map<string, TopologyNode>} */
  nodes
  /** @type {Map<string, unknown>} */
  globals

  /** @param {State} [other] */
  constructor(other) {
    this.entries = new Map(other?.entries)
    this.nodes = new Map(other?.nodes)
    this.globals = new Map(other?.globals)
  }

  /** @param {string} id */
  entry(id) {
    return this.entries.get(id) ?? { records: [] }
  }

  /**
   * @param {string} id
   * @param {Partial<Entry>} change
   */
  #change(id, change) {
    this.entries.set(id, { ...this.entry(id), ...change })
  }

  /**
   * The one place where something changes, for new calls and for those of the journal.
   *
   * @param {[method: string, id: string, value?: any]} call
   */
  apply([method, id, value]) {
    switch (method) {
      case 'putSession':
        return this.#change(id, { meta: value })
      case 'appendRecord':
        return this.#change(id, { records: [...this.entry(id).records, value] })
      case 'trimRecords':
        // What was summarised of other records is of no use.
        return this.#change(id, { records: value === 0 ? [] : this.entry(id).records.slice(-value), cache: undefined })
      case 'putSystemPrompt':
        return this.#change(id, { systemPrompt: value })
      case 'putInsight':
        return this.#change(id, { insight: value })
      case 'clearInsight':
        return this.#change(id, { insight: undefined })
      case 'putMemory':
        return this.#change(id, { memory: value })
      case 'putCompressionCache':
        return this.#change(id, { cache: value })
      case 'putNode':
        return void this.nodes.set(id, value)
      case 'removeNode':
        return void this.nodes.delete(id)
      case 'putGlobal':
        return void this.globals.set(id, value)
      default:
        throw new Error(`the journal has a call of ${method}, which this version does not know`)
    }
  }
}

/**
 * The methods of a storage. What they change goes through `write`, which differs between the storage and its transactions.
 *
 * @abstract
 */
class Methods {
  /** @returns {State} */
  get state() {
    throw new Error('to be overridden')
  }

  /**
   * @param {string} _method
   * @param {string} _id
   * @param {unknown} [_value]
   * @returns {Promise<void>}
   */
  async write(_method, _id, _value) {}

  /** @param {string} id */
  async getSession(id) {
    return this.state.entry(id).meta ?? null
  }
  /** @param {SessionMeta} meta */
  putSession(meta) {
    return this.write('putSession', meta.id, meta)
  }
  /** @param {SessionFilter} [filter] */
  async listSessions({ status, role, tags = [] } = {}) {
    return this.#metas().filter(
      (meta) => (status === undefined || meta.status === status) && (role === undefined || meta.role === role) && tags.every((tag) => meta.tags.includes(tag)),
    )
  }
  #metas() {
    return [...this.state.entries.values()].flatMap(({ meta }) => meta ?? [])
  }

  /**
   * @param {string} id
   * @param {Message} record
   */
  appendRecord(id, record) {
    return this.write('appendRecord', id, record)
  }
  /**
   * @param {string} id
   * @param {ListRecordsOptions} [options]
   */
  async listRecords(id, { role, offset = 0, limit = Infinity } = {}) {
    const { records } = this.state.entry(id)
    return (role === undefined ? records : records.filter((record) => record.role === role)).slice(offset, offset + limit)
  }
  /**
   * @param {string} id
   * @param {number} keepRecent
   */
  trimRecords(id, keepRecent) {
    return this.write('trimRecords', id, keepRecent)
  }

  /** @param {string} id */
  async getSystemPrompt(id) {
    return this.state.entry(id).systemPrompt ?? null
  }
  /**
   * @param {string} id
   * @param {string} content
   */
  putSystemPrompt(id, content) {
    return this.write('putSystemPrompt', id, content)
  }
  /** @param {string} id */
  async getInsight(id) {
    return this.state.entry(id).insight ?? null
  }
  /**
   * @param {string} id
   * @param {string} content
   */
  putInsight(id, content) {
    return this.write('putInsight', id, content)
  }
  /** @param {string} id */
  clearInsight(id) {
    return this.write('clearInsight', id)
  }
  /** @param {string} id */
  async getMemory(id) {
    return this.state.entry(id).memory ?? null
  }
  /**
   * @param {string} id
   * @param {string} content
   */
  putMemory(id, content) {
    return this.write('putMemory', id, content)
  }
  async getAllSessionL2s() {
    const remembering = this.#metas().filter(({ id, status, role }) => status === 'active' && role === 'standard' && this.state.entry(id).memory !== undefined)
    return remembering.map(({ id, label }) => ({ sessionId: id, label, l2: this.state.entry(id).memory ?? '' }))
  }

  /** @param {string} id */
  async getCompressionCache(id) {
    return this.state.entry(id).cache ?? null
  }
  /**
   * @param {string} id
   * @param {CompressionCacheSnapshot} cache
   */
  putCompressionCache(id, cache) {
    return this.write('putCompressionCache', id, cache)
  }

  /** @param {TopologyNode} node */
  putNode(node) {
    return this.write('putNode', node.id, node)
  }
  /** @param {string} id */
  async getNode(id) {
    return this.state.nodes.get(id) ?? null
  }
  /** @param {string | null} parentId */
  async getChildren(parentId) {
    return [...this.state.nodes.values()].filter((node) => node.parentId === parentId)
  }
  /** @param {string} id */
  removeNode(id) {
    return this.write('removeNode', id)
  }

  /** @param {string} key */
  async getGlobal(key) {
    return this.state.globals.get(key) ?? null
  }
  /**
   * @param {string} key
   * @param {unknown} value
   */
  putGlobal(key, value) {
    return this.write('putGlobal', key, value)
  }
}

/**
 * A transaction: works on a draft, and notes its calls.
 *
 * @implements {MainStorage}
 */
class Transaction extends Methods {
  /** @type {string[]} each call as JSON */
  calls = []
  #draft

  /** @param {State} state */
  constructor(state) {
    super()
    this.#draft = new State(state)
  }

  /** @override */
  get state() {
    return this.#draft
  }

  /**
   * @override
   * @param {string} method
   * @param {string} id
   * @param {unknown} [value]
   */
  async write(method, id, value) {
    // As JSON and back: what is kept is what a restart reads, and nobody else holds it.
    const call = JSON.stringify([method, id, value])
    this.#draft.apply(JSON.parse(call))
    this.calls.push(call)
  }

  /**
   * @template T
   * @param {(tx: MainStorage) => Promise<T>} fn
   * @returns {Promise<T>}
   */
  transaction(fn) {
    return fn(this)
  }
}

/** @implements {MainStorage} */
export class JournalStorage extends Methods {
  #state = new State()
  /** @type {FileHandle} */
  #file
  /** Up to here the file holds whole lines. */
  #size = 0
  /** @type {Promise<unknown>} */
  #last = Promise.resolve()

  /** @param {FileHandle} file */
  constructor(file) {
    super()
    this.#file = file
  }

  /** @param {string} path */
  static async open(path) {
    const storage = new JournalStorage(await open(path, 'a+'))
    await storage.#replay()
    return storage
  }

  async #replay() {
    const journal = await this.#file.readFile()
    this.#size = journal.lastIndexOf('\n') + 1
    for (const line of journal.subarray(0, this.#size).toString().split('\n')) {
      if (line !== '') for (const call of JSON.parse(line)) this.#state.apply(call)
    }
    await this.#file.truncate(this.#size)
  }

  /** @override */
  get state() {
    return this.#state
  }

  /**
   * @override
   * @param {string} method
   * @param {string} id
   * @param {unknown} [value]
   */
  write(method, id, value) {
    return this.#inTurn((tx) => tx.write(method, id, value))
  }

  /**
   * @template T
   * @param {(tx: MainStorage) => Promise<T>} fn
   * @returns {Promise<T>}
   */
  transaction(fn) {
    return this.#inTurn(fn)
  }

  /**
   * One transaction after another, so that none undoes what another wrote.
   *
   * @template T
   * @param {(tx: Transaction) => Promise<T>} fn
   * @returns {Promise<T>}
   */
  #inTurn(fn) {
    const run = this.#last.then(async () => {
      const tx = new Transaction(this.#state)
      const result = await fn(tx)
      if (tx.calls.length > 0) await this.#append(`[${tx.calls.join(',')}]\n`)
      this.#state = tx.state
      return result
    })
    this.#last = run.catch(() => {})
    return run
  }

  /** @param {string} line */
  async #append(line) {
    try {
      await this.#file.appendFile(line)
      await this.#file.datasync()
    } catch (error) {
      await this.#file.truncate(this.#size) // a part of the line may be there
      throw error
    }
    this.#size += Buffer.byteLength(line)
  }

  /** Waits for what is under way. */
  async close() {
    await this.#last
    await this.#file.close()
  }
}

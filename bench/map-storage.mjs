// @ts-check
/** @import { ChildL2Summary, ListRecordsOptions, MainStorage, Message, SessionFilter, SessionMeta, TopologyNode } from '@stello-ai/session' */

/**
 * A storage as an application has one: JavaScript over Maps that hands out copies.
 *
 * @implements {MainStorage}
 */
export class MapStorage {
  /** @type {Map<string, SessionMeta>} */ #sessions = new Map()
  /** @type {Map<string, Message[]>} */ #records = new Map()
  /** @type {Map<string, string>} */ #prompts = new Map()
  /** @type {Map<string, string>} */ #insights = new Map()
  /** @type {Map<string, string>} */ #memories = new Map()
  /** @type {Map<string, TopologyNode>} */ #nodes = new Map()
  /** @type {Map<string, unknown>} */ #globals = new Map()

  async getSession(/** @type {string} */ id) {
    return this.#sessions.get(id) ?? null
  }
  async putSession(/** @type {SessionMeta} */ session) {
    this.#sessions.set(session.id, { ...session })
  }
  async listSessions(/** @type {SessionFilter} */ { status, role, tags = [] } = {}) {
    return [...this.#sessions.values()].filter(
      (session) => (status === undefined || session.status === status) && (role === undefined || session.role === role) && tags.every((tag) => session.tags.includes(tag)),
    )
  }
  async appendRecord(/** @type {string} */ id, /** @type {Message} */ record) {
    const records = this.#records.get(id)
    if (records === undefined) this.#records.set(id, [{ ...record }])
    else records.push({ ...record })
  }
  async listRecords(/** @type {string} */ id, /** @type {ListRecordsOptions} */ { role, offset = 0, limit = Infinity } = {}) {
    const records = this.#records.get(id) ?? []
    const wanted = role === undefined ? records : records.filter((record) => record.role === role)
    return wanted.slice(offset, offset + limit).map((record) => ({ ...record }))
  }
  async trimRecords(/** @type {string} */ id, /** @type {number} */ keepRecent) {
    this.#records.set(id, keepRecent === 0 ? [] : (this.#records.get(id) ?? []).slice(-keepRecent))
  }
  async getSystemPrompt(/** @type {string} */ id) {
    return this.#prompts.get(id) ?? null
  }
  async putSystemPrompt(/** @type {string} */ id, /** @type {string} */ content) {
    this.#prompts.set(id, content)
  }
  async getInsight(/** @type {string} */ id) {
    return this.#insights.get(id) ?? null
  }
  async putInsight(/** @type {string} */ id, /** @type {string} */ content) {
    this.#insights.set(id, content)
  }
  async clearInsight(/** @type {string} */ id) {
    this.#insights.delete(id)
  }
  async getMemory(/** @type {string} */ id) {
    return this.#memories.get(id) ?? null
  }
  async putMemory(/** @type {string} */ id, /** @type {string} */ content) {
    this.#memories.set(id, content)
  }
  async getAllSessionL2s() {
    const sessions = await this.listSessions({ status: 'active', role: 'standard' })
    return sessions.flatMap(({ id, label }) => {
      const l2 = this.#memories.get(id)
      return l2 === undefined ? [] : [/** @type {ChildL2Summary} */ ({ sessionId: id, label, l2 })]
    })
  }
  async putNode(/** @type {TopologyNode} */ node) {
    this.#nodes.set(node.id, { ...node })
  }
  async getNode(/** @type {string} */ id) {
    return this.#nodes.get(id) ?? null
  }
  async getChildren(/** @type {string} */ parentId) {
    return [...this.#nodes.values()].filter((node) => node.parentId === parentId)
  }
  async removeNode(/** @type {string} */ id) {
    this.#nodes.delete(id)
  }
  async getGlobal(/** @type {string} */ key) {
    return this.#globals.get(key) ?? null
  }
  async putGlobal(/** @type {string} */ key, /** @type {unknown} */ value) {
    this.#globals.set(key, value)
  }
  /**
   * @template T
   * @param {(tx: MapStorage) => Promise<T>} fn
   */
  async transaction(fn) {
    return fn(this)
  }
}

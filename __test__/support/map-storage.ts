import type { ChildL2Summary, MainStorage, Message, SessionFilter, SessionMeta, TopologyNode } from '@stello-ai/session'

/**
 * A storage as a user writes one: plain JavaScript over Maps, every documented method, and a transaction that
 * rolls back. It hands out the very objects that it keeps, as careless storages do.
 */
export class MapStorage implements MainStorage {
  sessions = new Map<string, SessionMeta>()
  records = new Map<string, Message[]>()
  prompts = new Map<string, string>()
  insights = new Map<string, string>()
  memories = new Map<string, string>()
  nodes = new Map<string, TopologyNode>()
  globals = new Map<string, unknown>()

  async getSession(id: string) {
    return this.sessions.get(id) ?? null
  }
  async putSession(session: SessionMeta) {
    this.sessions.set(session.id, session)
  }
  async listSessions(filter: SessionFilter = {}) {
    const { status, role, tags = [] } = filter
    return [...this.sessions.values()].filter(
      (session) =>
        (status === undefined || session.status === status) &&
        (role === undefined || session.role === role) &&
        tags.every((tag) => session.tags.includes(tag)),
    )
  }
  async appendRecord(sessionId: string, record: Message) {
    this.records.set(sessionId, [...(this.records.get(sessionId) ?? []), record])
  }
  async listRecords(sessionId: string, { role, offset = 0, limit = Infinity }: { role?: Message['role']; offset?: number; limit?: number } = {}) {
    const records = this.records.get(sessionId) ?? []
    return records.filter((record) => role === undefined || record.role === role).slice(offset, offset + limit)
  }
  async trimRecords(sessionId: string, keepRecent: number) {
    const records = this.records.get(sessionId) ?? []
    this.records.set(sessionId, keepRecent === 0 ? [] : records.slice(-keepRecent))
  }
  async getSystemPrompt(sessionId: string) {
    return this.prompts.get(sessionId) ?? null
  }
  async putSystemPrompt(sessionId: string, content: string) {
    this.prompts.set(sessionId, content)
  }
  async getInsight(sessionId: string) {
    return this.insights.get(sessionId) ?? null
  }
  async putInsight(sessionId: string, content: string) {
    this.insights.set(sessionId, content)
  }
  async clearInsight(sessionId: string) {
    this.insights.delete(sessionId)
  }
  async getMemory(sessionId: string) {
    return this.memories.get(sessionId) ?? null
  }
  async putMemory(sessionId: string, content: string) {
    this.memories.set(sessionId, content)
  }
  async getAllSessionL2s() {
    const children: ChildL2Summary[] = []
    for (const { id, label, role, status } of this.sessions.values()) {
      const l2 = this.memories.get(id)
      if (role === 'standard' && status === 'active' && l2 !== undefined) children.push({ sessionId: id, label, l2 })
    }
    return children
  }
  async putNode(node: TopologyNode) {
    this.nodes.set(node.id, node)
  }
  async getChildren(parentId: string | null) {
    return [...this.nodes.values()].filter((node) => node.parentId === parentId)
  }
  async removeNode(nodeId: string) {
    this.nodes.delete(nodeId)
  }
  async getGlobal(key: string) {
    return this.globals.get(key) ?? null
  }
  async putGlobal(key: string, value: unknown) {
    this.globals.set(key, value)
  }
  async transaction<T>(fn: (tx: MapStorage) => Promise<T>): Promise<T> {
    const maps = ['sessions', 'records', 'prompts', 'insights', 'memories', 'nodes', 'globals'] as const
    const before = maps.map((name) => new Map(this[name] as Map<string, unknown>))
    try {
      return await fn(this)
    } catch (error) {
      maps.forEach((name, index) => Object.assign(this, { [name]: before[index] }))
      throw error
    }
  }
}

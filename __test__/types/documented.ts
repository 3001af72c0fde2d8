// An application as the documents of the first generation show it: a storage and an adapter of its own with exactly the
// documented members, main sessions, functions given to `consolidate` and `integrate`.
import {
  createAnthropicAdapter,
  createClaude,
  createGPT,
  createMainSession,
  createOpenAICompatibleAdapter,
  createSession,
  InMemoryStorageAdapter,
  loadMainSession,
  loadSession,
  MainSession,
  NotImplementedError,
  Session,
  SessionArchivedError,
} from '@stello-ai/session'
import type {
  ChildL2Summary,
  ClaudeModel,
  ClaudeOptions,
  ConsolidateFn,
  CreateMainSessionOptions,
  CreateSessionOptions,
  ForkContextFn,
  ForkOptions,
  GPTModel,
  GPTOptions,
  IntegrateFn,
  IntegrateResult,
  ListRecordsOptions,
  LLMAdapter,
  LLMChunk,
  LLMCompleteOptions,
  LLMResult,
  LoadMainSessionOptions,
  LoadSessionOptions,
  MainStorage,
  Message,
  MessageQueryOptions,
  SendResult,
  SessionFilter,
  SessionMeta,
  SessionMetaUpdate,
  SessionStorage,
  StreamResult,
  ToolCall,
  TopologyNode,
} from '@stello-ai/session'

class OwnSessionStorage implements SessionStorage {
  private readonly sessions = new Map<string, SessionMeta>()
  private readonly records = new Map<string, Message[]>()
  private readonly slots = new Map<string, string>()

  async getSession(id: string): Promise<SessionMeta | null> {
    return this.sessions.get(id) ?? null
  }
  async putSession(session: SessionMeta): Promise<void> {
    this.sessions.set(session.id, session)
  }
  async appendRecord(sessionId: string, record: Message): Promise<void> {
    this.records.set(sessionId, [...(this.records.get(sessionId) ?? []), record])
  }
  async listRecords(sessionId: string, options?: ListRecordsOptions): Promise<Message[]> {
    const all = (this.records.get(sessionId) ?? []).filter((record) => options?.role === undefined || record.role === options.role)
    const offset = options?.offset ?? 0
    return all.slice(offset, options?.limit === undefined ? undefined : offset + options.limit)
  }
  async trimRecords(sessionId: string, keepRecent: number): Promise<void> {
    this.records.set(sessionId, keepRecent === 0 ? [] : (this.records.get(sessionId) ?? []).slice(-keepRecent))
  }
  async getSystemPrompt(sessionId: string): Promise<string | null> {
    return this.slots.get(`prompt:${sessionId}`) ?? null
  }
  async putSystemPrompt(sessionId: string, content: string): Promise<void> {
    this.slots.set(`prompt:${sessionId}`, content)
  }
  async getInsight(sessionId: string): Promise<string | null> {
    return this.slots.get(`insight:${sessionId}`) ?? null
  }
  async putInsight(sessionId: string, content: string): Promise<void> {
    this.slots.set(`insight:${sessionId}`, content)
  }
  async clearInsight(sessionId: string): Promise<void> {
    this.slots.delete(`insight:${sessionId}`)
  }
  async getMemory(sessionId: string): Promise<string | null> {
    return this.slots.get(`memory:${sessionId}`) ?? null
  }
  async putMemory(sessionId: string, content: string): Promise<void> {
    this.slots.set(`memory:${sessionId}`, content)
  }
  async transaction<T>(fn: (tx: SessionStorage) => Promise<T>): Promise<T> {
    return fn(this)
  }
}

class OwnMainStorage extends OwnSessionStorage implements MainStorage {
  private readonly nodes: TopologyNode[] = []
  private readonly globals = new Map<string, unknown>()

  async getAllSessionL2s(): Promise<ChildL2Summary[]> {
    return []
  }
  async listSessions(_filter?: SessionFilter): Promise<SessionMeta[]> {
    return []
  }
  async putNode(node: TopologyNode): Promise<void> {
    this.nodes.push(node)
  }
  async getChildren(parentId: string): Promise<TopologyNode[]> {
    return this.nodes.filter((node) => node.parentId === parentId)
  }
  async removeNode(_nodeId: string): Promise<void> {}
  async getGlobal(key: string): Promise<unknown> {
    return this.globals.get(key)
  }
  async putGlobal(key: string, value: unknown): Promise<void> {
    this.globals.set(key, value)
  }
}

class OwnAdapter implements LLMAdapter {
  maxContextTokens = 8_000
  async complete(messages: Message[], options?: LLMCompleteOptions): Promise<LLMResult> {
    const toolCalls: ToolCall[] = (options?.tools ?? []).map(({ name }, index) => ({ id: `call-${index}`, name, input: {} }))
    return { content: messages.at(-1)?.content ?? null, toolCalls, usage: { promptTokens: 1, completionTokens: 2 } }
  }
  async *stream(messages: Message[], _options?: LLMCompleteOptions): AsyncIterable<LLMChunk> {
    for (const word of (messages.at(-1)?.content ?? '').split(' ')) yield { delta: word }
  }
}

const literalAdapter: LLMAdapter = {
  maxContextTokens: 100_000,
  complete: async () => ({ content: 'hello' }),
}

const model: GPTModel = 'gpt-4o'
const claudeModel: ClaudeModel = 'claude-sonnet-4-20250514'
const gptOptions: GPTOptions = { model, apiKey: 'key', baseURL: 'https://example.com/v1' }
const claudeOptions: ClaudeOptions = { model: claudeModel, apiKey: 'key' }

export const adapters: LLMAdapter[] = [
  new OwnAdapter(),
  literalAdapter,
  createGPT(gptOptions),
  createClaude(claudeOptions),
  createOpenAICompatibleAdapter({
    apiKey: 'key',
    model: 'MiniMax-M1',
    baseURL: 'https://example.com/v1',
    maxContextTokens: 128_000,
    extraBody: { reasoning_split: true },
  }),
  createAnthropicAdapter({ apiKey: 'key', model: 'claude-next', maxContextTokens: 200_000 }),
]

const tools: LLMCompleteOptions['tools'] = [{ name: 'search', description: 'Search', inputSchema: { type: 'object' } }]
const consolidate: ConsolidateFn = async (currentMemory, messages) => `${currentMemory ?? ''}${messages.length}`
const integrate: IntegrateFn = async (children, currentSynthesis): Promise<IntegrateResult> => ({
  synthesis: `${currentSynthesis ?? ''}${children.map((child) => child.l2).join()}`,
  insights: children.map(({ sessionId, label }) => ({ sessionId, content: label })),
})
const lastTwo: ForkContextFn = (parentRecords) => parentRecords.slice(-2)

export async function converse(llm: LLMAdapter): Promise<void> {
  const storage = new OwnSessionStorage()
  const options: CreateSessionOptions = { storage, llm, label: 'First', systemPrompt: 'Be brief.', tags: ['a'], metadata: { n: 1 }, tools }
  const session: Session = await createSession(options)

  const answer: SendResult = await session.send('Hello')
  for (const call of answer.toolCalls ?? []) console.log(call.id, call.name, call.input.query)
  console.log(answer.content, answer.usage?.promptTokens, answer.usage?.completionTokens)

  const stream: StreamResult = session.stream('And now?')
  for await (const piece of stream) process.stdout.write(piece)
  const whole = await stream.result
  console.log(whole.content?.length)

  const query: MessageQueryOptions = { role: 'user', limit: 10, offset: 0 }
  const messages: Message[] = await session.messages(query)
  console.log(messages.length, await session.systemPrompt(), await session.insight(), await session.memory())

  await session.setSystemPrompt('Be kind.')
  await session.setInsight('The user likes tea.')
  await session.consolidate(consolidate)
  await session.consolidate(async (memory, history) => `${memory}${history.length}`)
  await session.trimRecords(10)

  const fork: ForkOptions = {
    label: 'Second',
    systemPrompt: 'Be precise.',
    context: lastTwo,
    prompt: 'How can I help?',
    llm: literalAdapter,
    tools,
    tags: ['b'],
    metadata: {},
  }
  const child: Session = await session.fork(fork)
  await child.fork({ label: 'Third', context: 'inherit' })

  const update: SessionMetaUpdate = { label: 'Renamed' }
  await session.updateMeta(update)
  session.setLLM(literalAdapter)
  const meta: Readonly<SessionMeta> = session.meta
  console.log(meta.id, meta.status, meta.metadata.n)

  const load: LoadSessionOptions = { storage, llm, systemPrompt: 'Be brief.', tools }
  const loaded: Session | null = await loadSession(meta.id, load)
  try {
    await loaded?.archive()
    await loaded?.send('Are you there?')
  } catch (error) {
    if (error instanceof SessionArchivedError) console.log(error.message)
    else if (error instanceof NotImplementedError) console.log(error.name)
    else throw error
  }
}

export async function oversee(llm: LLMAdapter): Promise<void> {
  const storages: MainStorage[] = [new InMemoryStorageAdapter(), new OwnMainStorage()]
  for (const storage of storages) {
    const options: CreateMainSessionOptions = { storage, llm, label: 'Main', systemPrompt: 'You see all.' }
    const main: MainSession = await createMainSession(options)
    const result: IntegrateResult = await main.integrate(integrate)
    console.log(result.synthesis, result.insights.length, await main.synthesis(), main.meta.role)
    for await (const piece of main.stream('What is going on?')) process.stdout.write(piece)
    const load: LoadMainSessionOptions = { storage, llm }
    const loaded: MainSession | null = await loadMainSession(main.meta.id, load)
    console.log(loaded instanceof MainSession)
    await storage.putGlobal('last', { at: Date.now() })
    console.log(await storage.getChildren(main.meta.id), await storage.listSessions({ status: 'active' }))
  }
}

/** A mock as a test writes it: an object with the members, which no cast is needed for. */
export function mockSession(): Session {
  const session: Session = {
    meta: {
      id: 's1',
      label: 'Mock',
      role: 'standard',
      status: 'active',
      tags: [],
      metadata: {},
      createdAt: '2026-01-01T00:00:00.000Z',
      updatedAt: '2026-01-01T00:00:00.000Z',
    },
    send: async (content: string) => ({ content }),
    stream: () => ({ result: Promise.resolve({ content: '' }), async *[Symbol.asyncIterator]() {} }),
    messages: async () => [],
    systemPrompt: async () => null,
    setSystemPrompt: async () => {},
    insight: async () => null,
    setInsight: async () => {},
    memory: async () => null,
    consolidate: async () => {},
    trimRecords: async () => {},
    fork: async () => session,
    updateMeta: async () => {},
    archive: async () => {},
    setLLM: () => {},
    setTools: () => {},
  }
  console.log(session instanceof Session)
  return session
}

/** Narrows by class, both ways. */
export function describeSession(session: Session | MainSession): string {
  return session instanceof MainSession ? session.meta.id : session.meta.label
}

export function narrow(value: unknown): string {
  if (value instanceof Session) return value.meta.label
  if (value instanceof MainSession) return value.meta.label
  return ''
}

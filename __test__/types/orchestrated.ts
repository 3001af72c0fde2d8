// An application as the documents of the second generation show it: one kind of session, functions bound at creation,
// the tool loop outside, and a reflection that reads digests and answers with insights.
import {
  createSession,
  forkSession,
  listSessionDigests,
  LLMError,
  loadSession,
  PostgresStorageAdapter,
  SqliteStorageAdapter,
  StorageError,
  ToolResultsError,
} from '@stello-ai/session'
import type {
  CompressFn,
  ConsolidateFn,
  LLMAdapter,
  MainStorage,
  SendResult,
  Session,
  SessionDigest,
  SessionSendOptions,
  SessionStorage,
  ToolResult,
} from '@stello-ai/session'

const compressFn: CompressFn = async (messages, options) => {
  options?.signal?.throwIfAborted()
  return messages.map((message) => message.content).join('\n')
}
const consolidateFn: ConsolidateFn = async (memory, messages) => memory ?? String(messages.length)

type Run = (name: string, input: Record<string, unknown>) => Promise<unknown>

export async function loop(session: Session, text: string, run: Run, signal?: AbortSignal): Promise<SendResult> {
  const options: SessionSendOptions = { signal }
  let answer = await session.send(text, options)
  while (answer.toolCalls !== undefined) {
    const toolResults: ToolResult[] = []
    for (const { id, name, input } of answer.toolCalls) {
      try {
        toolResults.push({ toolCallId: id, toolName: name, args: input, success: true, data: await run(name, input), error: null })
      } catch (error) {
        toolResults.push({ toolCallId: id, toolName: name, args: input, success: false, data: null, error: String(error) })
      }
    }
    const asText = JSON.stringify({ toolResults })
    answer = Math.random() < 0.5 ? await session.send({ toolResults }, options) : await session.send(asText)
  }
  return answer
}

export async function reflect(storage: MainStorage): Promise<void> {
  const digests: SessionDigest[] = await listSessionDigests(storage, { status: 'active' })
  await Promise.all(digests.filter(({ memory }) => memory !== null).map(({ id, label }) => storage.putInsight(id, `About ${label}`)))
}

export async function grow(llm: LLMAdapter): Promise<void> {
  const storage = new SqliteStorageAdapter({ path: ':memory:', synchronous: 'normal', busyTimeoutMs: 5000, transactionTimeoutMs: 1000 })
  const root = await createSession({ storage, llm, parentId: null, id: 'root', label: 'Root', compressFn, consolidateFn })
  const child = await forkSession(root, { label: 'Child', context: async (records) => records.slice(-4), compressFn })
  await child.consolidate()
  child.setTools([{ name: 'now', description: 'Tell the time', inputSchema: { type: 'object' } }])
  child.setTools(undefined)
  console.log(child.tools?.map((tool) => tool.name))

  await storage.transaction(async (tx) => {
    await tx.putInsight(child.meta.id, 'Look up')
    await tx.deleteSession('old')
    return (await tx.getNode(child.meta.id))?.parentId
  })
  console.log(await storage.getChildren(null), await storage.listRecords('root', { last: 2 }), await storage.getCompressionCache('root'))
  await storage.close()

  const shared: SessionStorage = new PostgresStorageAdapter({
    connectionString: 'postgres://localhost/test',
    schema: 'chat',
    maxConnections: 4,
    connectTimeoutMs: 1000,
    statementTimeoutMs: 1000,
    transactionTimeoutMs: 1000,
  })
  const { send } = (await loadSession('root', { storage: shared, llm })) ?? root
  try {
    await send('Hello')
  } catch (error) {
    if (error instanceof LLMError) console.log(error.provider, error.status, error.code, error.type, error.requestId, error.retryable, error.retryAfterMs)
    else if (error instanceof ToolResultsError || error instanceof StorageError) console.log(error.code)
    else throw error
  }
}

import {
  createAnthropicAdapter,
  createOpenAICompatibleAdapter,
  createSession,
  LLMError,
  type LLMAdapter,
  type LLMChunk,
  type LLMCompleteOptions,
  type LLMResult,
  type MainStorage,
  type Message,
  type ToolSpec,
  type Usage,
} from '@stello-ai/session'

export type Protocol = 'o' | 'a'

/** A key that no message may show. */
export const KEY = 'sk-test-0123456789abcdef'

export interface AdapterSettings {
  model?: string
  apiKey?: string
  maxRetries?: number
  timeoutMs?: number
  idleTimeoutMs?: number
  maxOutputTokens?: number
  headers?: Record<string, string>
}

/** An adapter of `protocol` for the server at `url`. */
export function adapterOf(protocol: Protocol, url: string, settings: AdapterSettings = {}): LLMAdapter {
  const options = { model: 'm', apiKey: KEY, maxContextTokens: 100_000, ...settings }
  return protocol === 'o'
    ? createOpenAICompatibleAdapter({ baseURL: `${url}/v1`, ...options })
    : createAnthropicAdapter({ baseURL: url, ...options })
}

/** A call of a tool, its arguments as they came in pieces. */
export interface Fragments {
  name: string
  id?: string
  input: string
}

/** What became of a call. */
export interface Outcome {
  /** The texts of a stream, without the empty ones. */
  pieces?: string[]
  content?: string | null
  calls?: Array<{ name: string; id?: string; input: unknown }>
  fragments?: Fragments[]
  usage?: Usage
  finishReason?: string
  reasoning?: string
  error?: unknown
}

export const TOOLS: ToolSpec[] = [{ name: 'f', description: 'does f', inputSchema: { type: 'object', properties: { a: { type: 'number' } } } }]
export const QUESTION: Message[] = [{ role: 'user', content: 'q' }]

/** Leaves out what is `undefined`. */
function present(outcome: Outcome): Outcome {
  return Object.fromEntries(Object.entries(outcome).filter(([, value]) => value !== undefined))
}

function ofResult({ content, toolCalls, usage, finishReason, reasoningContent }: LLMResult): Outcome {
  return { content, calls: toolCalls, usage, finishReason, reasoning: reasoningContent }
}

/** What `complete` comes to. */
export async function completed(adapter: LLMAdapter, options?: LLMCompleteOptions, messages = QUESTION): Promise<Outcome> {
  try {
    return present(ofResult(await adapter.complete(messages, options)))
  } catch (error) {
    return { error }
  }
}

/** What `stream` comes to. */
export async function streamed(adapter: LLMAdapter, options?: LLMCompleteOptions, messages = QUESTION): Promise<Outcome> {
  const chunks: LLMChunk[] = []
  try {
    for await (const chunk of adapter.stream!(messages, options)) chunks.push(chunk)
    return present(ofChunks(chunks))
  } catch (error) {
    return { ...present(ofChunks(chunks)), error }
  }
}

function ofChunks(chunks: LLMChunk[]): Outcome {
  const fragments: Fragments[] = []
  for (const { index, id, name, input } of chunks.flatMap(({ toolCallDeltas }) => toolCallDeltas ?? [])) {
    const call = (fragments[index] ??= { name: '', input: '' })
    if (id) call.id ??= id
    call.name ||= name ?? ''
    call.input += input ?? ''
  }
  const last = chunks.at(-1)
  const reasoning = chunks.map(({ reasoningDelta }) => reasoningDelta ?? '').join('')
  return {
    pieces: chunks.map(({ delta }) => delta).filter((delta) => delta !== ''),
    fragments: fragments.length === 0 ? undefined : fragments.filter(Boolean),
    usage: last?.usage,
    finishReason: last?.finishReason,
    reasoning: reasoning === '' ? undefined : reasoning,
  }
}

/** What a turn comes to, `send` or `stream`. */
export async function turned(
  storage: MainStorage,
  llm: LLMAdapter,
  op: 'stream' | 'complete',
  { signal, tools }: LLMCompleteOptions = {},
): Promise<{ outcome: Outcome; sessionId: string }> {
  const session = await createSession({ storage, llm, tools, systemPrompt: 'be brief', label: '' })
  await session.setInsight('it rains')
  const { id: sessionId } = session.meta
  const pieces: string[] = []
  try {
    if (op === 'complete') return { sessionId, outcome: present(ofResult(await session.send('q', { signal }))) }
    const stream = session.stream('q', { signal })
    for await (const piece of stream) pieces.push(piece)
    return { sessionId, outcome: { pieces, ...present(ofResult(await stream.result)) } }
  } catch (error) {
    return { sessionId, outcome: { ...(op === 'stream' && { pieces }), error } }
  }
}

/** The parts of an error that are promised. */
export function faultOf(error: unknown) {
  if (!(error instanceof LLMError)) return error
  const { message, code, provider, status, type, requestId, retryable, retryAfterMs, cause } = error
  return { message, code, provider, status, type, requestId, retryable, retryAfterMs, cause: cause instanceof Error ? cause.message : cause }
}

/**
 * Conversations with memory for LLM applications.
 *
 * `Session` and `MainSession` are structural: a plain object with the members is a `Session`. Options accept an
 * explicit `undefined` as "not given". Errors that are not named at a method: a `TypeError` for an argument of the
 * wrong type, and whatever the given storage, adapter or function throws, as the same object.
 *
 * @module @stello-ai/session
 */

// zod is an optional peer, used in types only to name the object schema of a tool. `import` and `require` may see two
// copies of its declarations, whose classes differ in zod 3. Without zod both names are `any`.
// @ts-ignore
import type * as zodRequired from 'zod'
// @ts-ignore
import type * as zodImported from 'zod' with { 'resolution-mode': 'import' }

/* ------------------------------------------------------------------------------------------------ messages */

/** Who speaks in a {@link Message}. */
export type MessageRole = 'system' | 'user' | 'assistant' | 'tool'

/**
 * One message of a conversation.
 *
 * Properties that are not listed here are kept by every storage and reach a JavaScript adapter untouched.
 */
export interface Message {
  /** Who speaks. */
  role: MessageRole
  /** The text; `''` where there is none, as on an assistant message that only calls tools. */
  content: string
  /** The tools that the model asked for; only on `assistant` messages, absent when there are none. */
  toolCalls?: ToolCall[]
  /** The call that this message answers; only on `tool` messages. */
  toolCallId?: string
  /** ISO 8601, UTC, milliseconds. */
  timestamp?: string
  /** What the model thought before it answered, where the provider tells. */
  reasoningContent?: string
  /** `true` on a `tool` message that reports a failure. */
  isError?: boolean
}

/** A tool that the model asked for. */
export interface ToolCall {
  /** Unique within its session. */
  id: string
  /** The tool's name. */
  name: string
  /** The arguments: a JSON object. */
  input: Record<string, unknown>
}

/** What came of a {@link ToolCall}, given back with {@link Session.send}. */
export interface ToolResult {
  /** The {@link ToolCall.id} that is answered. Without one, results are matched by `toolName`, in order. */
  toolCallId?: string | null
  /** The tool that was run; matches results without a `toolCallId`, and is not sent to the model. */
  toolName?: string | null
  /** Not sent to the model. */
  args?: unknown
  /** Whether the tool did what it was asked; decides between `data` and `error`. */
  success: boolean
  /** What the model is shown on success: a string as it is, nothing for `null`, else its JSON. */
  data?: unknown
  /**
   * What the model is shown on failure.
   *
   * @default 'Unknown error'
   */
  error?: string | null
}

/** Answers to all tool calls of the model's last message, in place of a text. */
export interface ToolResultsInput {
  /** At least one. */
  toolResults: ToolResult[]
}

/** Tokens of one call as the provider counted them. */
export interface Usage {
  /** The whole prompt, its cached part included. */
  promptTokens: number
  /** The answer, its reasoning included where the provider counts that. */
  completionTokens: number
  /** The part of `promptTokens` that the provider had in its cache; absent where it does not tell. */
  cachedPromptTokens?: number
}

/** Why the model stopped; another string is the provider's own word. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | (string & {})

/* ------------------------------------------------------------------------------------------------ adapters */

/** A tool as the model is told of it. */
export interface ToolSpec {
  /** By which the model calls it. */
  name: string
  /** What it does, for the model. */
  description: string
  /** JSON Schema of the arguments; in a session's `tools` also the schema of a {@link Tool}. */
  inputSchema: Record<string, unknown>
}

/** What accompanies the messages of one call. */
export interface LLMCompleteOptions {
  /** Absent when there are none. */
  tools?: ToolSpec[] | undefined
  /** Ends the call; the promise rejects with `signal.reason`. */
  signal?: AbortSignal | undefined
  /** The most tokens to answer with, over the adapter's own setting. */
  maxTokens?: number | undefined
  /** Over the adapter's own setting; not sent to models that refuse it. */
  temperature?: number | undefined
}

/** A model's whole answer. */
export interface LLMResult {
  /** `null` when the model wrote no text. */
  content: string | null
  /** Absent when there are none. */
  toolCalls?: ToolCall[]
  /** Absent where the provider does not tell. */
  usage?: Usage
  /** Absent where the provider does not tell. */
  finishReason?: FinishReason
  /** What the model thought before it answered; absent where the provider does not tell. */
  reasoningContent?: string
}

/** A piece of a tool call in a stream. */
export interface ToolCallDelta {
  /** Pieces with the same index belong to one call. */
  index: number
  /** Whole, with the call's first piece. */
  id?: string
  /** Whole, with the call's first piece. */
  name?: string
  /** A piece of the JSON text of the arguments. */
  input?: string
}

/** A piece of a model's answer. */
export interface LLMChunk {
  /** The text to add; may be empty. */
  delta: string
  /** Reasoning to add; absent when there is none. */
  reasoningDelta?: string
  /** Pieces of tool calls; absent when there are none. */
  toolCallDeltas?: ToolCallDelta[]
  /** With the last piece, where the provider tells. */
  usage?: Usage
  /** With the last piece. */
  finishReason?: FinishReason
}

/**
 * A model behind a session: one of {@link createGPT}, {@link createClaude}, {@link createOpenAICompatibleAdapter},
 * {@link createAnthropicAdapter}, or any object with these members. Methods are called on the object.
 */
export interface LLMAdapter {
  /** Sends the messages and resolves to the whole answer. */
  complete(messages: Message[], options?: LLMCompleteOptions): Promise<LLMResult>
  /** Sends the messages and gives the answer in pieces. Without it a session's `stream()` yields one piece. */
  stream?(messages: Message[], options?: LLMCompleteOptions): AsyncIterable<LLMChunk>
  /** The model's window, in tokens. A session keeps its prompts within it. */
  maxContextTokens: number
}

/** What the four native adapters have in common. */
export interface AdapterOptions {
  /** The most tokens to answer with. The defaults are the provider's, 4096 for OpenAI-compatible servers, 8192 for Anthropic. */
  maxOutputTokens?: number | undefined
  /** Left out of the request when not given, and for the o-series models. */
  temperature?: number | undefined
  /** Added to the request's headers, replacing those of the same name. */
  headers?: Record<string, string> | undefined
  /**
   * How often a call is tried again after a connection failure, 408, 409, 429 or 5xx.
   *
   * @default 2
   */
  maxRetries?: number | undefined
  /**
   * Milliseconds for one attempt, from connecting to its last byte.
   *
   * @default 600000
   */
  timeoutMs?: number | undefined
  /**
   * Milliseconds of silence after which a stream fails.
   *
   * @default 60000
   */
  idleTimeoutMs?: number | undefined
}

/** The OpenAI models whose window is known: 128 000 for gpt-4o, 1 047 576 for gpt-4.1, 200 000 for the o-series. */
export type GPTModel = 'gpt-4o' | 'gpt-4o-mini' | 'gpt-4.1' | 'gpt-4.1-mini' | 'gpt-4.1-nano' | 'o3' | 'o3-mini' | 'o4-mini'

/** Options of {@link createGPT} for a model whose window is known. */
export interface GPTOptions extends AdapterOptions {
  /** One whose window is known. */
  model: GPTModel
  /**
   * `''` sends no authentication.
   *
   * @default the environment variable `OPENAI_API_KEY`; with neither, a `TypeError`
   */
  apiKey?: string | undefined
  /** @default the environment variable `OPENAI_BASE_URL`, else `https://api.openai.com/v1` */
  baseURL?: string | undefined
  /** The window in tokens, over the known one. */
  maxContextTokens?: number | undefined
}

/** Options of {@link createGPT} for any other model. */
export interface CustomGPTOptions extends Omit<GPTOptions, 'model' | 'maxContextTokens'> {
  /** Any name that the server knows. */
  model: string
  /** The model's window, in tokens. */
  maxContextTokens: number
}

/** The Anthropic models whose window is known: 200 000. */
export type ClaudeModel = 'claude-opus-4-20250514' | 'claude-sonnet-4-20250514' | 'claude-haiku-4-5-20251001'

/** Options of {@link createClaude} for a model whose window is known. */
export interface ClaudeOptions extends AdapterOptions {
  /** One whose window is known. */
  model: ClaudeModel
  /**
   * `''` sends no authentication.
   *
   * @default the environment variable `ANTHROPIC_API_KEY`; with neither, a `TypeError`
   */
  apiKey?: string | undefined
  /** @default the environment variable `ANTHROPIC_BASE_URL`, else `https://api.anthropic.com` */
  baseURL?: string | undefined
  /** The window in tokens, over the known one. */
  maxContextTokens?: number | undefined
  /**
   * Marks the stable part of the prompt for the provider's cache.
   *
   * @default true
   */
  promptCache?: boolean | undefined
}

/** Options of {@link createClaude} for any other model. */
export interface CustomClaudeOptions extends Omit<ClaudeOptions, 'model' | 'maxContextTokens'> {
  /** Any name that the server knows. */
  model: string
  /** The model's window, in tokens. */
  maxContextTokens: number
}

/** Options of {@link createOpenAICompatibleAdapter}. */
export interface OpenAICompatibleOptions extends AdapterOptions {
  /** Any name that the server knows. */
  model: string
  /**
   * `''` sends no authentication.
   *
   * @default the environment variable `OPENAI_API_KEY`; with neither, a `TypeError`
   */
  apiKey?: string | undefined
  /** Where `/chat/completions` is added; a query string stays behind the path. */
  baseURL: string
  /** The model's window, in tokens. */
  maxContextTokens: number
  /** Fields added to the request's body; a field that is `undefined` is removed from it. */
  extraBody?: Record<string, unknown> | undefined
  /**
   * Sends `reasoningContent` of earlier answers back, as `reasoning_content`.
   *
   * @default false
   */
  echoReasoning?: boolean | undefined
}

/** Options of {@link createAnthropicAdapter}. */
export interface AnthropicAdapterOptions extends AdapterOptions {
  /** Any name that the server knows. */
  model: string
  /**
   * `''` sends no authentication.
   *
   * @default the environment variable `ANTHROPIC_API_KEY`; with neither, a `TypeError`
   */
  apiKey?: string | undefined
  /** @default the environment variable `ANTHROPIC_BASE_URL`, else `https://api.anthropic.com` */
  baseURL?: string | undefined
  /** The model's window, in tokens. */
  maxContextTokens: number
  /**
   * Marks the stable part of the prompt for the provider's cache.
   *
   * @default false
   */
  promptCache?: boolean | undefined
}

/**
 * Talks to OpenAI's Chat Completions.
 *
 * Its calls fail with {@link LLMError}. A model without a known window needs `maxContextTokens`, else it is a
 * `TypeError` that lists the known ones.
 *
 * @example
 * ```ts
 * import { createGPT } from '@stello-ai/session'
 *
 * const known = createGPT({ model: 'gpt-4o' }) // the key is in OPENAI_API_KEY
 * const newer = createGPT({ model: 'gpt-next', maxContextTokens: 400_000 })
 * ```
 */
export function createGPT(options: CustomGPTOptions): LLMAdapter
export function createGPT(options: GPTOptions): LLMAdapter

/**
 * Talks to Anthropic's Messages, with prompt caching.
 *
 * Its calls fail with {@link LLMError}. A model without a known window needs `maxContextTokens`, else it is a
 * `TypeError` that lists the known ones.
 *
 * @example
 * ```ts
 * import { createClaude } from '@stello-ai/session'
 *
 * const llm = createClaude({ model: 'claude-sonnet-4-20250514' }) // the key is in ANTHROPIC_API_KEY
 * ```
 */
export function createClaude(options: CustomClaudeOptions): LLMAdapter
export function createClaude(options: ClaudeOptions): LLMAdapter

/**
 * Talks to any server that speaks OpenAI's Chat Completions: DeepSeek, MiniMax, llama.cpp, LiteLLM and others.
 *
 * Its calls fail with {@link LLMError}.
 *
 * @example
 * ```ts
 * import { createOpenAICompatibleAdapter } from '@stello-ai/session'
 *
 * const llm = createOpenAICompatibleAdapter({
 *   baseURL: 'http://127.0.0.1:8080/v1',
 *   model: 'qwen3',
 *   apiKey: '',
 *   maxContextTokens: 32_768,
 * })
 * ```
 */
export function createOpenAICompatibleAdapter(options: OpenAICompatibleOptions): LLMAdapter

/**
 * Talks to any server that speaks Anthropic's Messages.
 *
 * Its calls fail with {@link LLMError}.
 *
 * @example
 * ```ts
 * import { createAnthropicAdapter } from '@stello-ai/session'
 *
 * const llm = createAnthropicAdapter({ model: 'claude-next', maxContextTokens: 400_000 })
 * ```
 */
export function createAnthropicAdapter(options: AnthropicAdapterOptions): LLMAdapter

/* ------------------------------------------------------------------------------------------------ functions */

/**
 * Makes one text of a stretch of history, to stand in its place when the window fills.
 *
 * The first message may be the previous summary, as a `system` message. An empty text is an error of the turn.
 */
export type CompressFn = (messages: Message[], options?: { signal?: AbortSignal }) => Promise<string>

/** Makes a session's memory of its history and the memory it has, which is `null` at first. */
export type ConsolidateFn = (currentMemory: string | null, messages: Message[]) => Promise<string>

/** Makes a synthesis, and insights for single sessions, of the memories of all. */
export type IntegrateFn = (children: ChildL2Summary[], currentSynthesis: string | null) => Promise<IntegrateResult>

/** Chooses what a forked session remembers of its parent's history. */
export type ForkContextFn = (parentRecords: Message[]) => Message[] | Promise<Message[]>

/** The memory of one session. */
export interface ChildL2Summary {
  /** The session's id. */
  sessionId: string
  /** The session's label. */
  label: string
  /** Its memory. */
  l2: string
}

/** What an {@link IntegrateFn} resolves to. */
export interface IntegrateResult {
  /** Replaces the main session's synthesis. */
  synthesis: string
  /** Each replaces the insight of its session; those for other ids than the given children's are dropped. */
  insights: Array<{
    /** Of one of the given children. */
    sessionId: string
    /** What the session's model is shown in its next turn. */
    content: string
  }>
}

/* ------------------------------------------------------------------------------------------------ sessions */

/** What is known about a session besides its messages. */
export interface SessionMeta {
  /** Never changes. */
  readonly id: string
  /** A name for people, and for the model: prompts say in which conversation it is. `''` leaves that out. */
  label: string
  /** What kind of session it is. */
  role: 'standard' | 'main'
  /** `archived` is read-only, for good. */
  status: 'active' | 'archived'
  /** For lists and filters; never sent to a model. */
  tags: string[]
  /** JSON. */
  metadata: Record<string, unknown>
  /** ISO 8601, UTC, milliseconds. */
  createdAt: string
  /** ISO 8601, UTC, milliseconds. */
  updatedAt: string
}

/** Fields to replace in a {@link SessionMeta}; those not given stay. */
export interface SessionMetaUpdate {
  /** The session's new name. */
  label?: string | undefined
  /** Replaced as a whole, not merged. */
  tags?: string[] | undefined
  /** Replaced as a whole, not merged. */
  metadata?: Record<string, unknown> | undefined
}

/** Which sessions to list: those for which every given field holds. */
export interface SessionFilter {
  /** Active or archived. */
  status?: SessionMeta['status'] | undefined
  /** Standard sessions or main sessions. */
  role?: SessionMeta['role'] | undefined
  /** All of these must be among the session's tags. */
  tags?: string[] | undefined
}

/** Options of one turn. */
export interface SessionSendOptions {
  /** Ends the turn at once, wherever it is; it rejects with `signal.reason`, and nothing is stored. */
  signal?: AbortSignal | undefined
}

/** Which messages to read: `role` first, then `offset`, then `limit`, from the oldest. */
export interface MessageQueryOptions {
  /** Only messages of this role. */
  role?: MessageRole | undefined
  /**
   * How many of those to leave out, from the oldest.
   *
   * @default 0
   */
  offset?: number | undefined
  /**
   * The most to read.
   *
   * @default all
   */
  limit?: number | undefined
}

/** What one turn came to. */
export interface SendResult {
  /** The model's text; `null` when it wrote none (`''` for a stream). */
  content: string | null
  /** The tools that the model asks for, to be answered by the next turn; absent when there are none. */
  toolCalls?: ToolCall[]
  /** Tokens of this turn's call, not of a summary made for it; absent where the provider does not tell. */
  usage?: Usage
  /** Absent where the provider does not tell. */
  finishReason?: FinishReason
  /** What the model thought before it answered; absent where the provider does not tell. It is stored with the answer. */
  reasoningContent?: string
}

/**
 * A turn under way: the pieces of the answer, and its outcome.
 *
 * The turn runs whether or not anyone iterates, and leaving the loop does not end it. Each piece comes once: a second
 * loop goes on where the first stopped. The loop ends after the turn is stored. An error comes after the pieces that
 * are already there; it rejects `result`, and is thrown in the loop as well unless `result` has been read by then.
 */
export interface StreamResult extends AsyncIterable<string> {
  /** What {@link Session.send} would have resolved to, once the turn is stored. */
  result: Promise<SendResult>
}

/** Options of {@link Session.fork} and {@link forkSession}. */
export interface ForkOptions {
  /** The new session's label. */
  label: string
  /** @default a new UUID */
  id?: string | undefined
  /** @default the parent's */
  systemPrompt?: string | undefined
  /**
   * What the new session remembers of the parent's history: nothing, all, or what the function returns. What it is given is made valid
   * as for a prompt: messages whose tool calls were not all answered, and answers without a call, are left out.
   *
   * @default 'none'
   */
  context?: 'none' | 'inherit' | ForkContextFn | undefined
  /** The new session's opening words, stored as an `assistant` message after what is inherited; none for `''`. */
  prompt?: string | undefined
  /** @default the parent's */
  llm?: LLMAdapter | undefined
  /** @default the parent's, as they are now */
  tools?: LLMCompleteOptions['tools']
  /** @default [] */
  tags?: string[] | undefined
  /** @default {} */
  metadata?: Record<string, unknown> | undefined
  /** @default the parent's */
  compressFn?: CompressFn | undefined
  /** @default the parent's */
  consolidateFn?: ConsolidateFn | undefined
}

/**
 * A conversation with memory. Made by {@link createSession}, {@link loadSession} or a fork.
 *
 * Methods work detached and in a spread copy. Async methods never throw, they reject: with {@link StorageError} where a
 * native storage failed, with the same object where code of yours did.
 */
export interface Session {
  /** A frozen snapshot of what is known about the session, always current. */
  readonly meta: Readonly<SessionMeta>
  /** What the model may call; `undefined` when there is nothing. */
  readonly tools?: LLMCompleteOptions['tools']

  /**
   * Holds one turn: puts the context together (system prompt, identity, insight, history, `content`), calls the
   * model once and stores the user's and the model's message in one transaction. A stored turn spends the insight.
   *
   * Turns of one session run one at a time, in the order of the calls. A turn that fails or is aborted stores nothing
   * and keeps the insight. Tools are not run: answer `toolCalls` with a turn whose content is
   * `{ toolResults }`, or the same as a JSON string.
   *
   * @throws {@link SessionArchivedError}
   * @throws {@link ToolResultsError} when results do not answer exactly the calls that are open
   * @throws {@link LLMError} from a native adapter
   * @throws {@link StorageError}
   * @throws `signal.reason` when aborted
   */
  send(content: string | ToolResultsInput, options?: SessionSendOptions): Promise<SendResult>

  /**
   * The same turn as {@link Session.send}, its answer in pieces. Returns at once. What is aborted is not stored, though
   * its pieces were shown.
   *
   * An error after the loop was left early is thrown nowhere: await `result` to hear of it.
   *
   * Throws only where the session is archived ({@link SessionArchivedError}), has no adapter, or an argument has the
   * wrong type; every other error comes through the result.
   */
  stream(content: string | ToolResultsInput, options?: SessionSendOptions): StreamResult

  /** Reads the stored history. */
  messages(options?: MessageQueryOptions): Promise<Message[]>

  /** Reads the system prompt; `null` where there is none. */
  systemPrompt(): Promise<string | null>
  /**
   * Replaces the system prompt.
   *
   * @throws {@link SessionArchivedError}
   */
  setSystemPrompt(content: string): Promise<void>

  /** Reads the insight that waits for the next turn; `null` where there is none. */
  insight(): Promise<string | null>
  /**
   * Replaces the insight: a note shown to the model in the next stored turn, and only there.
   *
   * @throws {@link SessionArchivedError}
   */
  setInsight(content: string): Promise<void>

  /** Reads the memory: what others are told about this session. It is never part of its own prompts. `null` at first. */
  memory(): Promise<string | null>
  /**
   * Makes the memory anew from the history, by `fn` or else the `consolidateFn` given at creation. Where it rejects, the
   * memory stays as it was.
   *
   * @throws {@link SessionArchivedError}
   * @throws Error `No consolidateFn configured for this session`
   */
  consolidate(fn?: ConsolidateFn): Promise<void>

  /**
   * Keeps the newest `keepRecent` messages and removes the others, for good. A summary of what was removed goes too.
   *
   * @throws {@link SessionArchivedError}
   * @throws TypeError `keepRecent must be a non-negative integer`
   */
  trimRecords(keepRecent: number): Promise<void>

  /**
   * Makes a new session that begins with the parent's system prompt and as much of its history as `context` says.
   * From then on both are independent. Memory and insight are not taken over. A fork that fails leaves nothing.
   *
   * It writes no topology node; {@link forkSession} does. An archived session can be forked.
   *
   * @throws TypeError where `context` gives something other than messages
   */
  fork(options: ForkOptions): Promise<Session>

  /**
   * Replaces the given fields.
   *
   * @throws {@link SessionArchivedError}
   */
  updateMeta(updates: SessionMetaUpdate): Promise<void>
  /** Makes the session read-only, for good. Archiving again does nothing. */
  archive(): Promise<void>

  /** Changes the model, from the next turn on. */
  setLLM(adapter: LLMAdapter): void
  /** Changes what the model may call, from the next turn on. */
  setTools(tools: LLMCompleteOptions['tools']): void
}

/**
 * The session that looks over all others. Made by {@link createMainSession} or {@link loadMainSession}.
 *
 * It has a synthesis where a {@link Session} has an insight, and gives insights rather than receive them. Errors are as
 * with a {@link Session}.
 */
export interface MainSession {
  /** A frozen snapshot of what is known about the session, always current. */
  readonly meta: Readonly<SessionMeta>
  /** What the model may call; `undefined` when there is nothing. */
  readonly tools?: LLMCompleteOptions['tools']

  /** As {@link Session.send}, with the context: system prompt, synthesis, history, `content`. */
  send(content: string | ToolResultsInput, options?: SessionSendOptions): Promise<SendResult>
  /** As {@link Session.stream}. */
  stream(content: string | ToolResultsInput, options?: SessionSendOptions): StreamResult
  /** Reads the stored history. */
  messages(options?: MessageQueryOptions): Promise<Message[]>

  /** Reads the system prompt; `null` where there is none. */
  systemPrompt(): Promise<string | null>
  /**
   * Replaces the system prompt.
   *
   * @throws {@link SessionArchivedError}
   */
  setSystemPrompt(content: string): Promise<void>

  /** Reads what the last {@link MainSession.integrate} made of all memories; `null` at first. */
  synthesis(): Promise<string | null>
  /**
   * Gathers the memories of all active sessions that have one, hands them to `fn` (or else the `integrateFn` given at
   * creation), and stores the synthesis and the insights it returns in one transaction. Resolves to what was stored;
   * where anything fails, nothing is.
   *
   * @throws TypeError where the storage lacks a method of {@link MainStorage}
   * @throws {@link SessionArchivedError}
   * @throws Error `No integrateFn configured for this main session`
   */
  integrate(fn?: IntegrateFn): Promise<IntegrateResult>

  /** As {@link Session.trimRecords}. */
  trimRecords(keepRecent: number): Promise<void>
  /** As {@link Session.fork}; the new session is a standard one. */
  fork(options: ForkOptions): Promise<Session>
  /** As {@link Session.updateMeta}. */
  updateMeta(updates: SessionMetaUpdate): Promise<void>
  /** As {@link Session.archive}. */
  archive(): Promise<void>
  /** As {@link Session.setLLM}. */
  setLLM(adapter: LLMAdapter): void
  /** As {@link Session.setTools}. */
  setTools(tools: LLMCompleteOptions['tools']): void
}

/** The right-hand side of `instanceof`; it cannot be constructed. */
export interface SessionClass extends Function {
  /** What `instanceof` looks for. */
  readonly prototype: Session
}

/** The right-hand side of `instanceof`; it cannot be constructed. */
export interface MainSessionClass extends Function {
  /** What `instanceof` looks for. */
  readonly prototype: MainSession
}

/** For `instanceof`; sessions come from {@link createSession}, {@link loadSession} and forks. */
export const Session: SessionClass
/** For `instanceof`; main sessions come from {@link createMainSession} and {@link loadMainSession}. */
export const MainSession: MainSessionClass

/** Options of {@link createSession}. */
export interface CreateSessionOptions {
  /** Where the session is kept. Sessions of one storage object share their queue and their archived state. */
  storage: SessionStorage
  /** @default a new UUID */
  id?: string | undefined
  /**
   * `null` makes the session a root of the forest, a string places it under that session. Without it no topology node
   * is written. Needs a storage with `putNode`.
   */
  parentId?: string | null | undefined
  /** Without one, turns fail with `LLMAdapter is required for send()` until {@link Session.setLLM}. */
  llm?: LLMAdapter | undefined
  /** @default 'New Session' */
  label?: string | undefined
  /** An empty one is not stored. */
  systemPrompt?: string | undefined
  /** @default [] */
  tags?: string[] | undefined
  /** @default {} */
  metadata?: Record<string, unknown> | undefined
  /** What the model may call. A {@link Tool} can be given as it is. */
  tools?: LLMCompleteOptions['tools']
  /** @default a summary by the session's own adapter */
  compressFn?: CompressFn | undefined
  /** Makes the memory in {@link Session.consolidate}; forks inherit it. */
  consolidateFn?: ConsolidateFn | undefined
}

/** Options of {@link loadSession}. */
export interface LoadSessionOptions {
  /** Where the session is kept. Sessions of one storage object share their queue and their archived state. */
  storage: SessionStorage
  /** Without one, turns fail with `LLMAdapter is required for send()` until {@link Session.setLLM}. */
  llm?: LLMAdapter | undefined
  /** Stored only where none is stored yet, and never on an archived session. */
  systemPrompt?: string | undefined
  /** What the model may call. A {@link Tool} can be given as it is. */
  tools?: LLMCompleteOptions['tools']
  /** @default a summary by the session's own adapter */
  compressFn?: CompressFn | undefined
  /** Makes the memory in {@link Session.consolidate}; forks inherit it. */
  consolidateFn?: ConsolidateFn | undefined
}

/** Options of {@link createMainSession}. */
export interface CreateMainSessionOptions extends Omit<CreateSessionOptions, 'storage' | 'label' | 'consolidateFn'> {
  /** Where the session is kept. Sessions of one storage object share their queue and their archived state. */
  storage: MainStorage
  /** @default 'Main Session' */
  label?: string | undefined
  /** Makes the synthesis in {@link MainSession.integrate}. */
  integrateFn?: IntegrateFn | undefined
}

/** Options of {@link loadMainSession}. */
export interface LoadMainSessionOptions extends Omit<LoadSessionOptions, 'storage' | 'consolidateFn'> {
  /** Where the session is kept. Sessions of one storage object share their queue and their archived state. */
  storage: MainStorage
  /** Makes the synthesis in {@link MainSession.integrate}. */
  integrateFn?: IntegrateFn | undefined
}

/**
 * Makes a session and stores it. An id that exists is not refused: its meta is written anew, its messages stay.
 *
 * @example
 * ```ts
 * import { createSession, createGPT, InMemoryStorageAdapter } from '@stello-ai/session'
 *
 * const session = await createSession({
 *   storage: new InMemoryStorageAdapter(),
 *   llm: createGPT({ model: 'gpt-4o' }),
 *   systemPrompt: 'You are a helpful assistant.',
 * })
 * const { content } = await session.send('Hello!')
 * ```
 */
export function createSession(options: CreateSessionOptions): Promise<Session>

/**
 * Loads a stored session; `null` where there is none. A main session's id gives a standard session over it.
 *
 * Fails with {@link StorageError} where the storage does.
 *
 * @example
 * ```ts
 * import { createGPT, createSession, loadSession, SqliteStorageAdapter } from '@stello-ai/session'
 *
 * const options = { storage: new SqliteStorageAdapter({ path: 'conversations.db' }), llm: createGPT({ model: 'gpt-4o' }) }
 * const session = (await loadSession('mei', options)) ?? (await createSession({ ...options, id: 'mei' }))
 * ```
 */
export function loadSession(id: string, options: LoadSessionOptions): Promise<Session | null>

/**
 * Makes a main session and stores it. An id that exists is not refused: its meta is written anew, its messages stay.
 *
 * Fails with {@link StorageError} where the storage does.
 *
 * @example
 * ```ts
 * import { createGPT, createMainSession, InMemoryStorageAdapter } from '@stello-ai/session'
 *
 * const main = await createMainSession({
 *   storage: new InMemoryStorageAdapter(),
 *   llm: createGPT({ model: 'gpt-4o' }),
 *   integrateFn: async (children) => ({ synthesis: children.map(({ l2 }) => l2).join('\n'), insights: [] }),
 * })
 * await main.integrate()
 * ```
 */
export function createMainSession(options: CreateMainSessionOptions): Promise<MainSession>

/**
 * Loads a stored main session; `null` where there is none or the id is a standard session's.
 *
 * Fails with {@link StorageError} where the storage does.
 */
export function loadMainSession(id: string, options: LoadMainSessionOptions): Promise<MainSession | null>

/**
 * Forks a session and places the new one under it in the forest; a parent without a node becomes a root first.
 * A fork that fails leaves no node.
 *
 * @throws TypeError where the storage has no `putNode`
 *
 * @example
 * ```ts
 * import { createSession, forkSession, InMemoryStorageAdapter } from '@stello-ai/session'
 *
 * const storage = new InMemoryStorageAdapter()
 * const root = await createSession({ storage, label: 'Travel', parentId: null })
 * const food = await forkSession(root, { label: 'Food', context: 'inherit', prompt: 'Let us talk about food.' })
 * const children = await storage.getChildren(root.meta.id)
 * ```
 */
export function forkSession(parent: Session | MainSession, options: ForkOptions): Promise<Session>

/** What a reflection reads of a session. */
export interface SessionDigest {
  /** The session's id. */
  id: string
  /** The session's label. */
  label: string
  /** Active or archived. */
  status: SessionMeta['status']
  /** `null` where there is none. */
  memory: string | null
  /** The one that waits for the next turn; `null` where there is none. */
  insight: string | null
}

/** Which sessions {@link listSessionDigests} lists. */
export interface SessionDigestFilter {
  /**
   * Only sessions that are active, or archived.
   *
   * @default both
   */
  status?: SessionMeta['status'] | undefined
}

/**
 * Lists memory and insight of all sessions, oldest first: what a reflection over them needs. Its findings go back with
 * `storage.putInsight(id, text)`.
 *
 * @example
 * ```ts
 * import { InMemoryStorageAdapter, listSessionDigests } from '@stello-ai/session'
 *
 * const storage = new InMemoryStorageAdapter()
 * for (const { id, label, memory } of await listSessionDigests(storage, { status: 'active' })) {
 *   if (memory !== null) await storage.putInsight(id, `What others know of "${label}": ${memory}`)
 * }
 * ```
 */
export function listSessionDigests(storage: MainStorage, filter?: SessionDigestFilter): Promise<SessionDigest[]>

/* ------------------------------------------------------------------------------------------------ storages */

/** Which records to read: `role` first, then `offset`, then `limit`, from the oldest. */
export interface ListRecordsOptions {
  /** Only records of this role. */
  role?: MessageRole | undefined
  /**
   * How many of those to leave out, from the oldest.
   *
   * @default 0
   */
  offset?: number | undefined
  /**
   * The most to read.
   *
   * @default all
   */
  limit?: number | undefined
}

/** A session's place in the forest. */
export interface TopologyNode {
  /** The session's id. */
  id: string
  /** `null` for a root. */
  parentId: string | null
  /** The session's label when the node was put; renaming a session leaves it. */
  label: string
}

/** A kept summary of the oldest messages of a session. */
export interface CompressionCacheSnapshot {
  /** The text that stands in place of the messages. */
  summary: string
  /** How many stored messages, from the oldest, it stands for. */
  compressedCount: number
  /** Tells whether they are still the same messages. */
  fingerprint: string
}

/**
 * Where a standard session is kept. Any object with these methods will do; they are called on it.
 *
 * A text that was never put is `null`; `undefined` counts as `null`. Records keep their order and all their properties.
 */
export interface SessionStorage {
  /** What was put last; `null` where there is none. */
  getSession(id: string): Promise<SessionMeta | null>
  /** Adds or replaces. */
  putSession(session: SessionMeta): Promise<void>

  /** Adds to the end. */
  appendRecord(sessionId: string, record: Message): Promise<void>
  /** In the order in which they were appended. */
  listRecords(sessionId: string, options?: ListRecordsOptions): Promise<Message[]>
  /** Keeps the newest `keepRecent`. */
  trimRecords(sessionId: string, keepRecent: number): Promise<void>

  /** What was put last; `null` where there is none. */
  getSystemPrompt(sessionId: string): Promise<string | null>
  /** Replaces. */
  putSystemPrompt(sessionId: string, content: string): Promise<void>

  /** What was put last; `null` where there is none, or it was cleared. */
  getInsight(sessionId: string): Promise<string | null>
  /** Replaces. */
  putInsight(sessionId: string, content: string): Promise<void>
  /** Makes it `null`. */
  clearInsight(sessionId: string): Promise<void>

  /** What was put last; `null` where there is none. Of a main session it is the synthesis. */
  getMemory(sessionId: string): Promise<string | null>
  /** Replaces. */
  putMemory(sessionId: string, content: string): Promise<void>

  /**
   * Runs `fn` and keeps all that it did through `tx`, or nothing where it rejects. It may run `fn` again.
   * Resolves to what `fn` resolves to.
   */
  transaction<T>(fn: (tx: SessionStorage) => Promise<T>): Promise<T>

  /** Optional: with both of these a summary outlives the session object. */
  getCompressionCache?(sessionId: string): Promise<CompressionCacheSnapshot | null | undefined>
  /** Optional: replaces. What it is given means nothing to the storage. */
  putCompressionCache?(sessionId: string, cache: CompressionCacheSnapshot): Promise<void>
}

/** Where main sessions and the forest of sessions are kept. */
export interface MainStorage extends SessionStorage {
  /** The memories of all active standard sessions that have one. */
  getAllSessionL2s(): Promise<ChildL2Summary[]>
  /** Those for which every given field of `filter` holds, in the order in which they were first put. */
  listSessions(filter?: SessionFilter): Promise<SessionMeta[]>

  /** Adds or replaces. */
  putNode(node: TopologyNode): Promise<void>
  /** The nodes under another. */
  getChildren(parentId: string): Promise<TopologyNode[]>
  /** Removes one node; those under it stay. */
  removeNode(nodeId: string): Promise<void>
  /** Optional: with it {@link forkSession} makes a root of a parent that has no node. */
  getNode?(nodeId: string): Promise<TopologyNode | null | undefined>

  /** `null` where nothing was put. */
  getGlobal(key: string): Promise<unknown>
  /** Replaces. The value is JSON. */
  putGlobal(key: string, value: unknown): Promise<void>
}

/** Which records of a native storage to read. */
export interface NativeListRecordsOptions extends ListRecordsOptions {
  /** The newest so many of those that pass `role`, in order; not together with `offset` or `limit`. */
  last?: number | undefined
}

/** What a native storage is inside its `transaction`. It reads its own writes; others see them when it is done. */
export interface NativeStorageTransaction extends MainStorage {
  /** In the order in which they were appended. */
  listRecords(sessionId: string, options?: NativeListRecordsOptions): Promise<Message[]>
  /** What was put last; `null` where there is none. */
  getNode(nodeId: string): Promise<TopologyNode | null>
  /** The nodes under `parentId`, or the roots for `null`, in the order in which they were first put. */
  getChildren(parentId: string | null): Promise<TopologyNode[]>
  /** What was put last; `null` where there is none, or where records that it covers were removed or altered. */
  getCompressionCache(sessionId: string): Promise<CompressionCacheSnapshot | null>
  /** Replaces. */
  putCompressionCache(sessionId: string, cache: CompressionCacheSnapshot): Promise<void>
  /** Removes the session and all that is kept under its id: messages, texts, summary, node. */
  deleteSession(id: string): Promise<void>
  /** Joins the transaction that is open. */
  transaction<T>(fn: (tx: NativeStorageTransaction) => Promise<T>): Promise<T>
}

/**
 * What the native storages have in common. Sessions use them directly, without crossing into JavaScript, unless a
 * method was replaced.
 *
 * Their methods fail with {@link StorageError}.
 */
export interface NativeStorage extends NativeStorageTransaction {
  /**
   * Runs `fn` in a transaction of the database. Calls on the storage itself from within `fn` join it, and so does a
   * nested `transaction`; where that one fails, this one is rolled back, even if `fn` catches the error.
   *
   * Rejects with {@link StorageError} `transaction` when `fn` has not settled after the storage's
   * `transactionTimeoutMs` (60 000 in memory); calls that `fn` makes later fail with it too.
   */
  transaction<T>(fn: (tx: NativeStorageTransaction) => Promise<T>): Promise<T>
  /** Lets go of connections and threads; later calls fail with {@link StorageError} `closed`. Closing twice is fine. */
  close(): Promise<void>
}

declare abstract class NativeStorageAdapter implements NativeStorage {
  getSession(id: string): Promise<SessionMeta | null>
  putSession(session: SessionMeta): Promise<void>
  listSessions(filter?: SessionFilter): Promise<SessionMeta[]>
  /** Removes the session and all that is kept under its id: messages, texts, summary, node. */
  deleteSession(id: string): Promise<void>
  appendRecord(sessionId: string, record: Message): Promise<void>
  listRecords(sessionId: string, options?: NativeListRecordsOptions): Promise<Message[]>
  trimRecords(sessionId: string, keepRecent: number): Promise<void>
  getSystemPrompt(sessionId: string): Promise<string | null>
  putSystemPrompt(sessionId: string, content: string): Promise<void>
  getInsight(sessionId: string): Promise<string | null>
  putInsight(sessionId: string, content: string): Promise<void>
  clearInsight(sessionId: string): Promise<void>
  getMemory(sessionId: string): Promise<string | null>
  putMemory(sessionId: string, content: string): Promise<void>
  getAllSessionL2s(): Promise<ChildL2Summary[]>
  putNode(node: TopologyNode): Promise<void>
  getNode(nodeId: string): Promise<TopologyNode | null>
  /** The nodes under `parentId`, or the roots for `null`, in the order in which they were first put. */
  getChildren(parentId: string | null): Promise<TopologyNode[]>
  removeNode(nodeId: string): Promise<void>
  getGlobal(key: string): Promise<unknown>
  putGlobal(key: string, value: unknown): Promise<void>
  getCompressionCache(sessionId: string): Promise<CompressionCacheSnapshot | null>
  putCompressionCache(sessionId: string, cache: CompressionCacheSnapshot): Promise<void>
  transaction<T>(fn: (tx: NativeStorageTransaction) => Promise<T>): Promise<T>
  /** Lets go of connections and threads; later calls fail with {@link StorageError} `closed`. Closing twice is fine. */
  close(): Promise<void>
}

/**
 * Keeps everything in this process; it is gone when the process ends.
 *
 * @example
 * ```ts
 * import { createSession, InMemoryStorageAdapter } from '@stello-ai/session'
 *
 * const session = await createSession({ storage: new InMemoryStorageAdapter() })
 * ```
 */
export class InMemoryStorageAdapter extends NativeStorageAdapter {
  constructor()
}

/** Options of {@link SqliteStorageAdapter}. */
export interface SqliteStorageOptions {
  /** The file, made on first use in a folder that exists; or `':memory:'`. */
  path: string
  /**
   * `'full'` survives a power cut; `'normal'` is faster, and may then lose the last turns, but not the file.
   *
   * @default 'full'
   */
  synchronous?: 'full' | 'normal' | undefined
  /**
   * Milliseconds to wait for a lock that another process holds.
   *
   * @default 30000
   */
  busyTimeoutMs?: number | undefined
  /**
   * Milliseconds after which an open `transaction` is rolled back.
   *
   * @default 60000
   */
  transactionTimeoutMs?: number | undefined
}

/**
 * Keeps everything in one file, which several processes may use at once. It is made and brought up to date on first use.
 *
 * @example
 * ```ts
 * import { SqliteStorageAdapter } from '@stello-ai/session'
 *
 * const storage = new SqliteStorageAdapter({ path: 'conversations.db' })
 * ```
 */
export class SqliteStorageAdapter extends NativeStorageAdapter {
  constructor(options: SqliteStorageOptions)
}

/** Options of {@link PostgresStorageAdapter}. */
export interface PostgresStorageOptions {
  /** `postgres://user:password@host:port/database?sslmode=require`. Never shown in an error. */
  connectionString: string
  /**
   * The schema that holds the tables; made where it is missing.
   *
   * @default 'stello'
   */
  schema?: string | undefined
  /**
   * How many connections the pool may hold.
   *
   * @default 10
   */
  maxConnections?: number | undefined
  /**
   * Milliseconds to wait for a connection, in the pool or on the network.
   *
   * @default 10000
   */
  connectTimeoutMs?: number | undefined
  /**
   * Milliseconds that one statement may take, waiting for locks included.
   *
   * @default 60000
   */
  statementTimeoutMs?: number | undefined
  /**
   * Milliseconds after which an open `transaction` is rolled back.
   *
   * @default 60000
   */
  transactionTimeoutMs?: number | undefined
}

/**
 * Keeps everything in PostgreSQL, for many machines on one history. Tables are made and brought up to date on first use.
 *
 * @example
 * ```ts
 * import { PostgresStorageAdapter } from '@stello-ai/session'
 *
 * const storage = new PostgresStorageAdapter({ connectionString: 'postgres://user:password@host/database?sslmode=verify-full' })
 * ```
 */
export class PostgresStorageAdapter extends NativeStorageAdapter {
  constructor(options: PostgresStorageOptions)
}

/* ------------------------------------------------------------------------------------------------ tools */

/** What the types need of a zod schema, of version 3 or 4. */
export type ToolSchema =
  | {
      /** Where zod 4 keeps its types. */
      readonly _zod: {
        /** The type of what the schema gives. */
        readonly output: unknown
      }
    }
  | {
      /** The type of what the schema gives, in zod 3. */
      readonly _output: unknown
    }

/** The arguments of a tool: what would be given to `z.object`. */
export type ToolShape = { readonly [name: string]: ToolSchema }

type SchemaOutput<T> = T extends { _zod: { output: infer Output } } ? Output : T extends { _output: infer Output } ? Output : never

// As in zod itself: version 4 marks the schema, version 3 looks at its type.
type IsOptional<T> = T extends { _zod: { output: unknown } }
  ? T extends { _zod: { optout: 'optional' } }
    ? true
    : false
  : undefined extends SchemaOutput<T>
    ? true
    : false

/** What a tool's `execute` is given: `z.infer` of the object with this shape. */
export type ToolInput<S extends ToolShape> = string extends keyof S
  ? Record<string, unknown>
  : Flatten<
      { -readonly [K in keyof S as IsOptional<S[K]> extends true ? never : K]: SchemaOutput<S[K]> } & {
        -readonly [K in keyof S as IsOptional<S[K]> extends true ? K : never]?: SchemaOutput<S[K]>
      }
    >

type Flatten<T> = { [K in keyof T]: T[K] }

/** What every zod object schema has, where its own type cannot be named. */
export interface ToolObjectSchema<S extends ToolShape = ToolShape> {
  /** The shape that the tool was made of. */
  readonly shape: S
  /** For `z.infer`. */
  readonly _output: ToolInput<S>
  /** Throws where `data` does not fit. */
  parse(data: unknown): ToolInput<S>
  /** Rejects where `data` does not fit. */
  parseAsync(data: unknown): Promise<ToolInput<S>>
  /** Says whether `data` fits. */
  safeParse(data: unknown):
    | {
        /** It fits. */
        success: true
        /** The arguments as the schema gives them. */
        data: ToolInput<S>
      }
    | {
        /** It does not fit. */
        success: false
        /** Where, and why. */
        error: Error
      }
}

type IsAny<T> = 0 extends 1 & T ? true : false

/**
 * The `ZodObject` of a tool. It counts as a JSON object too, so that a {@link Tool} can be given as a session's tool.
 */
export type ToolInputSchema<S extends ToolShape> = (IsAny<zodRequired.ZodRawShape> extends true
  ? ToolObjectSchema<S>
  : S extends zodRequired.ZodRawShape
    ? zodRequired.ZodObject<S>
    : S extends zodImported.ZodRawShape
      ? zodImported.ZodObject<S>
      : ToolObjectSchema<S>) &
  Record<string, unknown>

/** Hints about what a tool does, for people and programs that decide about running it. */
export interface ToolAnnotations {
  /** A name for people. */
  title?: string | undefined
  /** It changes nothing. */
  readOnlyHint?: boolean | undefined
  /** What it changes may be lost. */
  destructiveHint?: boolean | undefined
  /** Running it again with the same arguments changes nothing more. */
  idempotentHint?: boolean | undefined
  /** It reaches out to an open world, such as the web. */
  openWorldHint?: boolean | undefined
}

/** What running a tool came to. */
export interface CallToolResult {
  /** What the tool says; for {@link ToolResult.data}. */
  output: unknown
  /** `true` where it reports a failure. */
  isError?: boolean
}

/** A tool with a zod schema. */
export interface Tool<S extends ToolShape = ToolShape> {
  /** By which the model calls it. */
  name: string
  /** What it does, for the model. */
  description: string
  /** The zod schema of its arguments. */
  inputSchema: ToolInputSchema<S>
  /** Runs it. A session never does: the application runs what the model asks for. */
  execute(input: ToolInput<S>): Promise<CallToolResult>
  /** Hints about what it does. */
  annotations?: ToolAnnotations
}

/**
 * Describes a tool by a zod shape, of zod 3 or 4, and the function that runs it.
 *
 * Needs the package `zod`, and `zod-to-json-schema` for shapes of zod 3 that a session's model is to be told of.
 *
 * @example
 * ```ts
 * import { tool } from '@stello-ai/session'
 * import { z } from 'zod'
 *
 * const weather = tool(
 *   'weather',
 *   'The weather in a city',
 *   { city: z.string().describe('Its name') },
 *   async ({ city }) => ({ output: `sunny in ${city}` }),
 * )
 * ```
 *
 * @throws TypeError for a shape that is none, or of both versions
 * @throws Error where `zod` is not installed
 */
export function tool<S extends ToolShape>(
  name: string,
  description: string,
  inputSchema: S,
  execute: (input: ToolInput<S>) => Promise<CallToolResult>,
  extras?: { annotations?: ToolAnnotations | undefined },
): Tool<S>

/**
 * The tool `stello_create_session`, by which a model makes a session of its own: it forks the session that
 * `getParent` returns, under it in the forest where the storage keeps one.
 *
 * Its input is `{ label, systemPrompt?, prompt? }`, its result `{ output: { sessionId, label } }`. Needs the package `zod`.
 *
 * @example
 * ```ts
 * import { createSession, createSessionTool, InMemoryStorageAdapter, type Session } from '@stello-ai/session'
 *
 * const session: Session = await createSession({
 *   storage: new InMemoryStorageAdapter(),
 *   parentId: null,
 *   tools: [createSessionTool(() => session)],
 * })
 * ```
 */
export function createSessionTool(getParent: () => Session | MainSession): Tool

/* ------------------------------------------------------------------------------------------------ errors */

/** An archived session was to be changed or sent a message. Nothing of it was done. */
export class SessionArchivedError extends Error {
  constructor(sessionId: string)
  /** Always the same. */
  readonly code: 'session_archived'
}

/** Something is not there yet. */
export class NotImplementedError extends Error {
  constructor(method: string)
  /** Always the same. */
  readonly code: 'not_implemented'
}

/** Tool results that do not answer exactly the calls that are open; the message lists the ids. */
export class ToolResultsError extends Error {
  constructor(message: string, options?: { cause?: unknown })
  /** Always the same. */
  readonly code: 'tool_results'
}

/**
 * What a call to a model failed of; another string is the provider's own code.
 *
 * - `connection`: there was no connection, or it broke
 * - `timeout`: `timeoutMs` or `idleTimeoutMs` has passed
 * - `incomplete_stream`: the stream ended before the answer did
 * - `invalid_response`: what came back is not of the protocol
 * - `provider_error`: the provider reported an error in an answer that began well
 * - `invalid_tool_arguments`: the model wrote arguments that are no JSON object
 * - `output_truncated`: the output limit cut a tool call
 * - `too_many_redirects`: the server redirects in a circle
 * - `http_404` and the like: a status that is an error, from a server that gives no code
 */
export type LLMErrorCode =
  | 'connection'
  | 'timeout'
  | 'incomplete_stream'
  | 'invalid_response'
  | 'provider_error'
  | 'invalid_tool_arguments'
  | 'output_truncated'
  | 'too_many_redirects'
  | `http_${number}`
  | (string & {})

/** What is known about a failed call. */
export interface LLMErrorDetails {
  /** Who failed: `openai`, `anthropic`, or a name of your own. */
  provider: string
  /** What it failed of. */
  code: LLMErrorCode
  /** The HTTP status, where there was a response. */
  status?: number | undefined
  /** The provider's error type. */
  type?: string | undefined
  /** The provider's id of the request, for its support. */
  requestId?: string | undefined
  /** @default false */
  retryable?: boolean | undefined
  /** How long the provider asked to wait, in milliseconds. */
  retryAfterMs?: number | undefined
  /** What lay beneath. */
  cause?: unknown
}

/** A call to a model that failed. It never holds an API key. */
export class LLMError extends Error {
  constructor(message: string, details: LLMErrorDetails)
  /** What it failed of. */
  readonly code: LLMErrorCode
  /** `openai` or `anthropic` for the native adapters. */
  readonly provider: string
  /** The HTTP status, where there was a response. */
  readonly status?: number
  /** The provider's error type, such as `overloaded_error`. */
  readonly type?: string
  /** The provider's id of the request, for its support. */
  readonly requestId?: string
  /** Whether the same call may succeed later. */
  readonly retryable: boolean
  /** How long the provider asked to wait, in milliseconds. */
  readonly retryAfterMs?: number
}

/**
 * What a storage failed of.
 *
 * - `invalid_shape`: a method answered something other than its contract says
 * - `closed`: the storage was closed
 * - `unavailable`: the database cannot be reached or opened
 * - `timeout`: a lock, a connection or a statement took too long
 * - `incompatible`: the file or the schema is not one that this version can use
 * - `not_writable`: the disk is full or the file is read-only
 * - `transaction`: a transaction was used after its end, or was never run
 * - `failed`: anything else that the database reported
 */
export type StorageErrorCode =
  | 'invalid_shape'
  | 'closed'
  | 'unavailable'
  | 'timeout'
  | 'incompatible'
  | 'not_writable'
  | 'transaction'
  | 'failed'

/** A storage that failed, or answered something other than its contract says. */
export class StorageError extends Error {
  constructor(message: string, options: { code: StorageErrorCode; cause?: unknown })
  /** What it failed of. */
  readonly code: StorageErrorCode
}

// Keeps the declarations above that are not exported out of the module's exports.
export {}

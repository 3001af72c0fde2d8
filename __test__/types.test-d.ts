import { describe, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { z as z3 } from 'zod3'
import * as mini from 'zod/mini'
import * as api from '@stello-ai/session'
import type * as types from '@stello-ai/session'

type Id<T> = T extends object ? { [K in keyof T]: T[K] } : T

describe('the exports', () => {
  it('are these values', () => {
    expectTypeOf<keyof typeof api>().toEqualTypeOf<
      | 'Session'
      | 'MainSession'
      | 'createSession'
      | 'loadSession'
      | 'forkSession'
      | 'createMainSession'
      | 'loadMainSession'
      | 'listSessionDigests'
      | 'InMemoryStorageAdapter'
      | 'SqliteStorageAdapter'
      | 'PostgresStorageAdapter'
      | 'createClaude'
      | 'createGPT'
      | 'createOpenAICompatibleAdapter'
      | 'createAnthropicAdapter'
      | 'tool'
      | 'createSessionTool'
      | 'SessionArchivedError'
      | 'NotImplementedError'
      | 'LLMError'
      | 'ToolResultsError'
      | 'StorageError'
    >()
  })

  it('do not include what the declarations use among themselves', () => {
    // @ts-expect-error not exported
    type Hidden = types.Flatten<object>
    expectTypeOf<Hidden>().toBeAny()
  })

  it('have functions that resolve to sessions, or to null where there may be none', () => {
    expectTypeOf(api.createSession).toEqualTypeOf<(options: types.CreateSessionOptions) => Promise<types.Session>>()
    expectTypeOf(api.loadSession).toEqualTypeOf<(id: string, options: types.LoadSessionOptions) => Promise<types.Session | null>>()
    expectTypeOf(api.createMainSession).toEqualTypeOf<(options: types.CreateMainSessionOptions) => Promise<types.MainSession>>()
    expectTypeOf(api.loadMainSession).toEqualTypeOf<(id: string, options: types.LoadMainSessionOptions) => Promise<types.MainSession | null>>()
    expectTypeOf(api.forkSession).toEqualTypeOf<(parent: types.Session | types.MainSession, options: types.ForkOptions) => Promise<types.Session>>()
    expectTypeOf(api.listSessionDigests).toEqualTypeOf<
      (storage: types.MainStorage, filter?: types.SessionDigestFilter) => Promise<types.SessionDigest[]>
    >()
    expectTypeOf(api.createSessionTool).returns.toEqualTypeOf<types.Tool>()
  })
})

describe('data', () => {
  it('messages', () => {
    expectTypeOf<types.Message>().toEqualTypeOf<{
      role: 'system' | 'user' | 'assistant' | 'tool'
      content: string
      toolCalls?: types.ToolCall[]
      toolCallId?: string
      timestamp?: string
      reasoningContent?: string
      isError?: boolean
    }>()
    expectTypeOf<types.ToolCall>().toEqualTypeOf<{ id: string; name: string; input: Record<string, unknown> }>()
    expectTypeOf<types.ToolResultsInput>().toEqualTypeOf<{ toolResults: types.ToolResult[] }>()
    expectTypeOf<{ toolCallId: string | null; toolName: string; args: object; success: boolean; data: unknown; error: string | null }>().toExtend<types.ToolResult>()
    expectTypeOf<types.MessageQueryOptions>().toEqualTypeOf<types.ListRecordsOptions>()
  })

  it('metadata', () => {
    expectTypeOf<types.SessionMeta>().toEqualTypeOf<{
      readonly id: string
      label: string
      role: 'standard' | 'main'
      status: 'active' | 'archived'
      tags: string[]
      metadata: Record<string, unknown>
      createdAt: string
      updatedAt: string
    }>()
    expectTypeOf<{ label?: string; tags?: string[]; metadata?: Record<string, unknown> }>().toExtend<types.SessionMetaUpdate>()
    expectTypeOf<types.TopologyNode>().toEqualTypeOf<{ id: string; parentId: string | null; label: string }>()
    expectTypeOf<types.SessionDigest>().toEqualTypeOf<{
      id: string
      label: string
      status: 'active' | 'archived'
      memory: string | null
      insight: string | null
    }>()
    expectTypeOf<types.CompressionCacheSnapshot>().toEqualTypeOf<{ summary: string; compressedCount: number; fingerprint: string }>()
    expectTypeOf<types.ChildL2Summary>().toEqualTypeOf<{ sessionId: string; label: string; l2: string }>()
    expectTypeOf<types.IntegrateResult>().toEqualTypeOf<{ synthesis: string; insights: Array<{ sessionId: string; content: string }> }>()
  })

  it('results', () => {
    expectTypeOf<types.Usage>().toEqualTypeOf<{ promptTokens: number; completionTokens: number; cachedPromptTokens?: number }>()
    expectTypeOf<types.LLMResult>().toEqualTypeOf<types.SendResult>()
    expectTypeOf<types.SendResult>().toEqualTypeOf<{
      content: string | null
      toolCalls?: types.ToolCall[]
      usage?: types.Usage
      finishReason?: types.FinishReason
      reasoningContent?: string
    }>()
    expectTypeOf<types.LLMChunk>().toEqualTypeOf<{
      delta: string
      reasoningDelta?: string
      toolCallDeltas?: Array<{ index: number; id?: string; name?: string; input?: string }>
      usage?: types.Usage
      finishReason?: types.FinishReason
    }>()
    expectTypeOf<string>().toExtend<types.FinishReason>()
    expectTypeOf<types.StreamResult>().toExtend<AsyncIterable<string>>()
    expectTypeOf<types.StreamResult['result']>().toEqualTypeOf<Promise<types.SendResult>>()
    expectTypeOf<types.CallToolResult>().toExtend<{ output: unknown }>()
  })
})

describe('functions of the application', () => {
  it('get exactly the documented arguments', () => {
    expectTypeOf<types.CompressFn>().toEqualTypeOf<(messages: types.Message[], options?: { signal?: AbortSignal }) => Promise<string>>()
    expectTypeOf<types.ConsolidateFn>().toEqualTypeOf<(currentMemory: string | null, messages: types.Message[]) => Promise<string>>()
    expectTypeOf<types.IntegrateFn>().toEqualTypeOf<
      (children: types.ChildL2Summary[], currentSynthesis: string | null) => Promise<types.IntegrateResult>
    >()
    expectTypeOf<types.ForkContextFn>().toEqualTypeOf<(parentRecords: types.Message[]) => types.Message[] | Promise<types.Message[]>>()
  })

  it('a fork takes them sync and async', () => {
    expectTypeOf((records: types.Message[]) => records.slice(1)).toExtend<types.ForkContextFn>()
    expectTypeOf(async (records: types.Message[]) => records.slice(1)).toExtend<types.ForkContextFn>()
  })
})

describe('sessions', () => {
  it('have these members', () => {
    expectTypeOf<keyof types.Session>().toEqualTypeOf<
      | 'meta'
      | 'tools'
      | 'send'
      | 'stream'
      | 'messages'
      | 'systemPrompt'
      | 'setSystemPrompt'
      | 'insight'
      | 'setInsight'
      | 'memory'
      | 'consolidate'
      | 'trimRecords'
      | 'fork'
      | 'updateMeta'
      | 'archive'
      | 'setLLM'
      | 'setTools'
    >()
  })

  it('main ones integrate, and have no insight and no memory', () => {
    expectTypeOf<Exclude<keyof types.Session, keyof types.MainSession>>().toEqualTypeOf<'insight' | 'setInsight' | 'memory' | 'consolidate'>()
    expectTypeOf<Exclude<keyof types.MainSession, keyof types.Session>>().toEqualTypeOf<'synthesis' | 'integrate'>()
    expectTypeOf<types.MainSession>().not.toExtend<types.Session>()
    expectTypeOf<types.Session>().not.toExtend<types.MainSession>()
  })

  it('are classes for instanceof alone', () => {
    const value: unknown = null
    if (value instanceof api.Session) expectTypeOf(value).toEqualTypeOf<types.Session>()
    if (value instanceof api.MainSession) expectTypeOf(value).toEqualTypeOf<types.MainSession>()
    // @ts-expect-error instances come from createSession
    void (() => new api.Session())
    // @ts-expect-error instances come from createMainSession
    void (() => new api.MainSession())
  })

  it('are sent a text or tool results, with a signal', () => {
    expectTypeOf<types.Session['send']>().toEqualTypeOf<
      (content: string | types.ToolResultsInput, options?: types.SessionSendOptions) => Promise<types.SendResult>
    >()
    expectTypeOf<types.Session['stream']>().toEqualTypeOf<
      (content: string | types.ToolResultsInput, options?: types.SessionSendOptions) => types.StreamResult
    >()
    expectTypeOf<types.MainSession['send']>().toEqualTypeOf<types.Session['send']>()
    expectTypeOf<types.MainSession['stream']>().toEqualTypeOf<types.Session['stream']>()
    expectTypeOf<types.MainSession['fork']>().toEqualTypeOf<types.Session['fork']>()
  })

  it('tell a snapshot', () => {
    expectTypeOf<types.Session['meta']>().toEqualTypeOf<Readonly<types.SessionMeta>>()
  })

  it('wrong calls do not compile', () => {
    const session = {} as types.Session
    const storage = {} as types.SessionStorage
    const calls = () => [
      // @ts-expect-error a text is needed
      session.send(),
      // @ts-expect-error not a text
      session.send(1),
      // @ts-expect-error no such option
      session.send('a', { abort: new AbortController() }),
      // @ts-expect-error a signal, not a controller
      session.send('a', { signal: new AbortController() }),
      // @ts-expect-error success is needed
      session.send({ toolResults: [{ toolCallId: 'a' }] }),
      // @ts-expect-error a label is needed
      session.fork({}),
      // @ts-expect-error no such strategy
      session.fork({ label: 'a', context: 'all' }),
      // @ts-expect-error no such field
      session.updateMeta({ status: 'archived' }),
      // @ts-expect-error not a number
      session.trimRecords('1'),
      // @ts-expect-error no such role
      session.messages({ role: 'bot' }),
      // @ts-expect-error a storage is needed
      api.createSession({}),
      // @ts-expect-error no such option
      api.createSession({ storage, lable: 'a' }),
      // @ts-expect-error a main session needs more of a storage
      api.createMainSession({ storage }),
      // @ts-expect-error a main session integrates
      api.createMainSession({ storage: new api.InMemoryStorageAdapter(), consolidateFn: async () => '' }),
      // @ts-expect-error options are needed
      api.loadSession('a'),
      // @ts-expect-error a tool has a schema
      session.setTools([{ name: 'a', description: 'b' }]),
    ]
    const assign = () => {
      // @ts-expect-error the snapshot is read-only
      session.meta.label = 'a'
    }
    void calls
    void assign
  })

  it('options take undefined as not given', () => {
    const storage = new api.InMemoryStorageAdapter()
    expectTypeOf({
      storage,
      id: undefined,
      parentId: undefined,
      llm: undefined,
      label: undefined,
      systemPrompt: undefined,
      tags: undefined,
      metadata: undefined,
      tools: undefined,
      compressFn: undefined,
      consolidateFn: undefined,
    }).toExtend<types.CreateSessionOptions>()
    expectTypeOf({
      storage,
      llm: undefined,
      systemPrompt: undefined,
      tools: undefined,
      compressFn: undefined,
      consolidateFn: undefined,
    }).toExtend<types.LoadSessionOptions>()
    expectTypeOf<keyof types.CreateMainSessionOptions>().toEqualTypeOf<
      Exclude<keyof types.CreateSessionOptions, 'consolidateFn'> | 'integrateFn'
    >()
    expectTypeOf<keyof types.LoadMainSessionOptions>().toEqualTypeOf<Exclude<keyof types.LoadSessionOptions, 'consolidateFn'> | 'integrateFn'>()
  })
})

describe('storages', () => {
  it('have the documented methods', () => {
    type Required<T> = keyof { [K in keyof T as undefined extends T[K] ? never : K]: T[K] }
    type SessionMethods =
      | 'getSession'
      | 'putSession'
      | 'appendRecord'
      | 'listRecords'
      | 'trimRecords'
      | 'getSystemPrompt'
      | 'putSystemPrompt'
      | 'getInsight'
      | 'putInsight'
      | 'clearInsight'
      | 'getMemory'
      | 'putMemory'
      | 'transaction'
    type MainMethods = 'getAllSessionL2s' | 'listSessions' | 'putNode' | 'getChildren' | 'removeNode' | 'getGlobal' | 'putGlobal'
    expectTypeOf<Required<types.SessionStorage>>().toEqualTypeOf<SessionMethods>()
    expectTypeOf<Required<types.MainStorage>>().toEqualTypeOf<SessionMethods | MainMethods>()
  })

  it('native ones are main storages with additions', () => {
    expectTypeOf<InstanceType<typeof api.InMemoryStorageAdapter>>().toExtend<types.NativeStorage>()
    expectTypeOf<InstanceType<typeof api.SqliteStorageAdapter>>().toExtend<types.NativeStorage>()
    expectTypeOf<InstanceType<typeof api.PostgresStorageAdapter>>().toExtend<types.NativeStorage>()
    expectTypeOf<types.NativeStorage>().toExtend<types.MainStorage>()
    expectTypeOf<Exclude<keyof types.NativeStorage, keyof types.MainStorage>>().toEqualTypeOf<'deleteSession' | 'close'>()
    expectTypeOf<types.NativeStorageTransaction>().toExtend<types.MainStorage>()
    expectTypeOf<types.NativeStorageTransaction>().not.toHaveProperty('close')
    expectTypeOf<api.InMemoryStorageAdapter['listRecords']>().parameter(1).toEqualTypeOf<types.NativeListRecordsOptions | undefined>()
    expectTypeOf<api.InMemoryStorageAdapter['getChildren']>().parameter(0).toEqualTypeOf<string | null>()
  })

  it('a transaction resolves to what its function resolves to', () => {
    const run = (storage: types.SessionStorage) => storage.transaction(async () => 7)
    expectTypeOf(run).returns.resolves.toEqualTypeOf<number>()
  })

  it('can be subclassed and spied on', () => {
    class Counting extends api.InMemoryStorageAdapter {
      count = 0
      override async appendRecord(sessionId: string, record: types.Message): Promise<void> {
        this.count += 1
        await super.appendRecord(sessionId, record)
      }
    }
    expectTypeOf<Counting>().toExtend<types.MainStorage>()
  })

  it('wrong options do not compile', () => {
    const calls = () => [
      // @ts-expect-error no options
      new api.InMemoryStorageAdapter({}),
      // @ts-expect-error a path is needed
      new api.SqliteStorageAdapter({}),
      // @ts-expect-error no such level
      new api.SqliteStorageAdapter({ path: 'a', synchronous: 'off' }),
      // @ts-expect-error a connection string is needed
      new api.PostgresStorageAdapter({ schema: 'a' }),
    ]
    void calls
  })
})

describe('names for parts', () => {
  it('of messages', () => {
    expectTypeOf<types.MessageRole>().toEqualTypeOf<types.Message['role']>()
    expectTypeOf<types.ToolCallDelta>().toEqualTypeOf<{ index: number; id?: string; name?: string; input?: string }>()
    expectTypeOf<NonNullable<types.LLMChunk['toolCallDeltas']>>().toEqualTypeOf<types.ToolCallDelta[]>()
  })

  it('of sessions', () => {
    expectTypeOf(api.Session).toEqualTypeOf<types.SessionClass>()
    expectTypeOf(api.MainSession).toEqualTypeOf<types.MainSessionClass>()
    expectTypeOf<types.SessionClass['prototype']>().toEqualTypeOf<types.Session>()
    expectTypeOf<types.MainSessionClass['prototype']>().toEqualTypeOf<types.MainSession>()
  })

  it('of storages', () => {
    expectTypeOf<ConstructorParameters<typeof api.SqliteStorageAdapter>>().toEqualTypeOf<[options: types.SqliteStorageOptions]>()
    expectTypeOf<ConstructorParameters<typeof api.PostgresStorageAdapter>>().toEqualTypeOf<[options: types.PostgresStorageOptions]>()
    expectTypeOf<types.SqliteStorageOptions['synchronous']>().toEqualTypeOf<'full' | 'normal' | undefined>()
    expectTypeOf<Parameters<types.MainStorage['listSessions']>>().toEqualTypeOf<[filter?: types.SessionFilter]>()
    expectTypeOf<Id<types.SessionFilter>>().toEqualTypeOf<{
      status?: 'active' | 'archived' | undefined
      role?: 'standard' | 'main' | undefined
      tags?: string[] | undefined
    }>()
  })

  it('of tools', () => {
    const shape = { query: z.string() }
    expectTypeOf(shape.query).toExtend<types.ToolSchema>()
    expectTypeOf(shape).toExtend<types.ToolShape>()
    expectTypeOf<types.Tool<typeof shape>['inputSchema']>().toEqualTypeOf<types.ToolInputSchema<typeof shape>>()
    expectTypeOf<types.Tool['annotations']>().toEqualTypeOf<types.ToolAnnotations | undefined>()
    expectTypeOf<types.ToolAnnotations['readOnlyHint']>().toEqualTypeOf<boolean | undefined>()
  })

  it('of errors', () => {
    expectTypeOf<ConstructorParameters<typeof api.LLMError>>().toEqualTypeOf<[message: string, details: types.LLMErrorDetails]>()
    expectTypeOf<api.LLMError['code']>().toEqualTypeOf<types.LLMErrorCode>()
    expectTypeOf<'http_529'>().toExtend<types.LLMErrorCode>()
  })
})

describe('adapters', () => {
  it('have the documented members', () => {
    expectTypeOf<Id<types.LLMAdapter>>().toEqualTypeOf<{
      complete: (messages: types.Message[], options?: types.LLMCompleteOptions) => Promise<types.LLMResult>
      stream?: (messages: types.Message[], options?: types.LLMCompleteOptions) => AsyncIterable<types.LLMChunk>
      maxContextTokens: number
    }>()
    expectTypeOf<NonNullable<types.LLMCompleteOptions['tools']>>().toEqualTypeOf<
      Array<{ name: string; description: string; inputSchema: Record<string, unknown> }>
    >()
    expectTypeOf<keyof types.LLMCompleteOptions>().toEqualTypeOf<'tools' | 'signal' | 'maxTokens' | 'temperature'>()
  })

  it('native ones are adapters, so that any other can take their place', () => {
    expectTypeOf(api.createGPT).returns.toEqualTypeOf<types.LLMAdapter>()
    expectTypeOf(api.createClaude).returns.toEqualTypeOf<types.LLMAdapter>()
    expectTypeOf(api.createOpenAICompatibleAdapter).returns.toEqualTypeOf<types.LLMAdapter>()
    expectTypeOf(api.createAnthropicAdapter).returns.toEqualTypeOf<types.LLMAdapter>()
  })

  it('know the documented models, and others with their window', () => {
    expectTypeOf<types.GPTModel>().toEqualTypeOf<
      'gpt-4o' | 'gpt-4o-mini' | 'gpt-4.1' | 'gpt-4.1-mini' | 'gpt-4.1-nano' | 'o3' | 'o3-mini' | 'o4-mini'
    >()
    expectTypeOf<types.ClaudeModel>().toEqualTypeOf<'claude-opus-4-20250514' | 'claude-sonnet-4-20250514' | 'claude-haiku-4-5-20251001'>()
    const calls = () => [
      api.createGPT({ model: 'gpt-4o', maxContextTokens: 1000, apiKey: undefined, headers: { a: 'b' } }),
      api.createGPT({ model: 'gpt-next', maxContextTokens: 1000 }),
      api.createClaude({ model: 'claude-next', maxContextTokens: 1000, promptCache: false }),
      // @ts-expect-error the window is needed
      api.createGPT({ model: 'gpt-next' }),
      // @ts-expect-error the window is needed
      api.createClaude({ model: 'claude-next' }),
      // @ts-expect-error no such option
      api.createGPT({ model: 'gpt-4o', apikey: 'a' }),
      // @ts-expect-error a base is needed
      api.createOpenAICompatibleAdapter({ model: 'a', maxContextTokens: 1 }),
      // @ts-expect-error the window is needed
      api.createAnthropicAdapter({ model: 'a' }),
      // @ts-expect-error of the compatible adapter alone
      api.createAnthropicAdapter({ model: 'a', maxContextTokens: 1, extraBody: {} }),
    ]
    void calls
  })

  it('share these options', () => {
    type Shared = 'maxOutputTokens' | 'temperature' | 'headers' | 'maxRetries' | 'timeoutMs' | 'idleTimeoutMs'
    type Common = Shared | 'model' | 'apiKey' | 'baseURL' | 'maxContextTokens'
    expectTypeOf<keyof types.AdapterOptions>().toEqualTypeOf<Shared>()
    expectTypeOf<keyof types.GPTOptions>().toEqualTypeOf<Common>()
    expectTypeOf<keyof types.CustomGPTOptions>().toEqualTypeOf<Common>()
    expectTypeOf<keyof types.OpenAICompatibleOptions>().toEqualTypeOf<Common | 'extraBody' | 'echoReasoning'>()
    expectTypeOf<keyof types.ClaudeOptions>().toEqualTypeOf<Common | 'promptCache'>()
    expectTypeOf<keyof types.CustomClaudeOptions>().toEqualTypeOf<Common | 'promptCache'>()
    expectTypeOf<keyof types.AnthropicAdapterOptions>().toEqualTypeOf<Common | 'promptCache'>()
  })
})

describe('tools', () => {
  const output = async () => ({ output: 1 })

  it('infer what zod 4 infers', () => {
    const shape = {
      text: z.string(),
      some: z.number().optional(),
      none: z.null(),
      maybe: z.string().nullish(),
      filled: z.boolean().default(true),
      anything: z.unknown(),
      any: z.any(),
      date: z.string().transform((text) => new Date(text)),
      branded: z.string().brand('Id'),
      list: z.array(z.object({ a: z.literal(1), b: z.optional(z.string()) })),
      one: z.union([z.string(), z.undefined()]),
      record: z.record(z.string(), z.number()),
      piped: z.preprocess(String, z.string()),
      lazy: z.lazy(() => z.string()),
    }
    expectTypeOf<types.ToolInput<typeof shape>>().toEqualTypeOf<z.infer<z.ZodObject<typeof shape>>>()
    const made = api.tool('a', 'b', shape, async (input) => {
      expectTypeOf(input).toEqualTypeOf<z.infer<z.ZodObject<typeof shape>>>()
      return { output: 1 }
    })
    expectTypeOf(made).toEqualTypeOf<types.Tool<typeof shape>>()
    expectTypeOf(made.inputSchema).toExtend<z.ZodObject<typeof shape>>()
    expectTypeOf(made.inputSchema.parse).returns.toEqualTypeOf<z.infer<z.ZodObject<typeof shape>>>()
  })

  it('infer what zod 3 infers', () => {
    const shape = {
      text: z3.string(),
      some: z3.number().optional(),
      none: z3.null(),
      maybe: z3.string().nullish(),
      filled: z3.boolean().default(true),
      anything: z3.unknown(),
      any: z3.any(),
      date: z3.string().transform((text) => new Date(text)),
      list: z3.array(z3.object({ a: z3.literal(1), b: z3.optional(z3.string()) })),
      one: z3.union([z3.string(), z3.undefined()]),
      lazy: z3.lazy(() => z3.string()),
    }
    expectTypeOf<types.ToolInput<typeof shape>>().toEqualTypeOf<z3.infer<z3.ZodObject<typeof shape>>>()
    const made = api.tool('a', 'b', shape, async (input) => {
      expectTypeOf(input).toEqualTypeOf<z3.infer<z3.ZodObject<typeof shape>>>()
      return { output: 1 }
    })
    // This zod is not the one that `zod` leads to, so the schema is named by what any of them has.
    expectTypeOf(made.inputSchema.parse({})).toEqualTypeOf<z3.infer<z3.ZodObject<typeof shape>>>()
    expectTypeOf(made.inputSchema.shape.text).toEqualTypeOf<z3.ZodString>()
  })

  it('infer what zod/mini infers', () => {
    const shape = { text: mini.string(), some: mini.optional(mini.number()) }
    expectTypeOf<types.ToolInput<typeof shape>>().toEqualTypeOf<{ text: string; some?: number | undefined }>()
    api.tool('a', 'b', shape, output)
  })

  it('of any shape are tools, and can be given to a session', () => {
    const made = api.tool('a', 'b', { text: z.string() }, output)
    expectTypeOf(made).toExtend<types.Tool>()
    expectTypeOf(made).toExtend<types.ToolSpec>()
    expectTypeOf<types.Tool>().toExtend<types.ToolSpec>()
    expectTypeOf<types.ToolObjectSchema>().toHaveProperty('parse')
  })

  it('without arguments take none', () => {
    expectTypeOf<types.ToolInput<{}>>().toEqualTypeOf<{}>()
    api.tool('a', 'b', {}, output, {})
    api.tool('a', 'b', {}, output, { annotations: { title: 'A', readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false } })
  })

  it('wrong ones do not compile', () => {
    const calls = () => [
      // @ts-expect-error a function is needed
      api.tool('a', 'b', {}),
      // @ts-expect-error a shape, not an object schema
      api.tool('a', 'b', z.object({}), output),
      // @ts-expect-error the fields are zod schemas
      api.tool('a', 'b', { text: { type: 'string' } }, output),
      // @ts-expect-error no such annotation
      api.tool('a', 'b', {}, output, { annotations: { readOnly: true } }),
      // @ts-expect-error a function that tells the parent
      api.createSessionTool({} as types.Session),
    ]
    void calls
  })

  it('that make sessions take either kind as the parent', () => {
    expectTypeOf<() => types.Session>().toExtend<Parameters<typeof api.createSessionTool>[0]>()
    expectTypeOf<() => types.MainSession>().toExtend<Parameters<typeof api.createSessionTool>[0]>()
  })
})

describe('errors', () => {
  it('are errors with a code', () => {
    expectTypeOf<api.SessionArchivedError>().toExtend<Error & { code: 'session_archived' }>()
    expectTypeOf<api.NotImplementedError>().toExtend<Error & { code: 'not_implemented' }>()
    expectTypeOf<api.ToolResultsError>().toExtend<Error & { code: 'tool_results' }>()
    expectTypeOf<api.StorageError>().toExtend<Error & { code: types.StorageErrorCode }>()
    expectTypeOf<api.LLMError>().toExtend<Error & { code: string; provider: string; retryable: boolean }>()
    expectTypeOf<api.LLMError['status']>().toEqualTypeOf<number | undefined>()
    expectTypeOf<api.LLMError['type']>().toEqualTypeOf<string | undefined>()
    expectTypeOf<api.LLMError['requestId']>().toEqualTypeOf<string | undefined>()
    expectTypeOf<api.LLMError['retryAfterMs']>().toEqualTypeOf<number | undefined>()
  })

  it('are made with', () => {
    expectTypeOf(api.SessionArchivedError).toBeConstructibleWith('id')
    expectTypeOf(api.NotImplementedError).toBeConstructibleWith('method')
    expectTypeOf(api.ToolResultsError).toBeConstructibleWith('message')
    expectTypeOf(api.LLMError).toBeConstructibleWith('message', { provider: 'mine', code: 'timeout', cause: new Error('x') })
    expectTypeOf(api.StorageError).toBeConstructibleWith('message', { code: 'failed' })
  })
})

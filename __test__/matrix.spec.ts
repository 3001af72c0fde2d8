// Whatever a turn goes through, its outcome is the same: one table of what happens, one runner for all combinations.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  InMemoryStorageAdapter,
  SqliteStorageAdapter,
  createMainSession,
  createSession,
  type LLMAdapter,
  type MainSession,
  type MainStorage,
  type Message,
  type SendResult,
  type Session,
  type ToolResultsInput,
} from '@stello-ai/session'
import { afterEach, describe, expect, it } from 'vitest'
import { MapStorage } from './support/map-storage.js'
import { USAGE, scripted, served, type Model, type Reply, type Script } from './support/model-server.js'

const ends: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

/** A storage, a way to make its next commit fail, and a way to read it after that. */
interface Place {
  storage: MainStorage
  breakDown(): Promise<unknown>
  reopened(): MainStorage | undefined
}

const storages: Record<string, () => Promise<Place>> = {
  async 'a JavaScript storage'() {
    const storage = new MapStorage()
    return { storage, breakDown: async () => (storage.appendRecord = () => Promise.reject(new Error('disk full'))), reopened: () => storage }
  },
  async 'the in-memory storage'() {
    const storage = new InMemoryStorageAdapter()
    return { storage, breakDown: () => storage.close(), reopened: () => undefined }
  },
  async SQLite() {
    const folder = await mkdtemp(join(tmpdir(), 'stello-matrix-'))
    const open = () => {
      const opened = new SqliteStorageAdapter({ path: join(folder, 'a.db'), synchronous: 'normal' })
      ends.push(() => opened.close())
      return opened
    }
    ends.push(() => rm(folder, { recursive: true, force: true }))
    const storage = open()
    return { storage, breakDown: () => storage.close(), reopened: open }
  },
}

const models: Record<string, (script: Script, window: number) => Model | Promise<Model>> = {
  'a JavaScript adapter with stream': (script, window) => scripted(script, { withStream: true, window }),
  'a JavaScript adapter without stream': (script, window) => scripted(script, { withStream: false, window }),
  'the native OpenAI adapter': (script, window) => served('openai', script, window),
  'the native Anthropic adapter': (script, window) => served('anthropic', script, window),
}

type AnySession = Session | MainSession
type Options = { storage: MainStorage; llm: LLMAdapter; compressFn?: (messages: Message[]) => Promise<string> }

const LABEL = 'matrix'
const kinds: Record<string, { make(options: Options): Promise<AnySession>; fill(storage: MainStorage, id: string): Promise<void>; system: string; insight: string | null }> = {
  'a session': {
    make: (options) => createSession({ ...options, label: LABEL, systemPrompt: 'PROMPT' }),
    fill: (storage, id) => storage.putInsight(id, 'INSIGHT'),
    system: 'PROMPT\n\n<session_identity>[^]*matrix[^]*</session_identity>\n\nINSIGHT',
    insight: 'INSIGHT',
  },
  'a main session': {
    make: (options) => createMainSession({ ...options, label: LABEL, systemPrompt: 'PROMPT' }),
    fill: (storage, id) => storage.putMemory(id, 'SYNTHESIS'),
    system: 'PROMPT\n\nSYNTHESIS',
    insight: null,
  },
}

const methods: Record<string, (session: AnySession, input: string | ToolResultsInput, pieces: string[], signal: AbortSignal) => Promise<SendResult>> = {
  send: (session, input, _pieces, signal) => session.send(input, { signal }),
  async stream(session, input, pieces, signal) {
    const stream = session.stream(input, { signal })
    for await (const piece of stream) pieces.push(piece)
    return stream.result
  },
}

const calls = [{ id: 'call-1', name: 'search', input: { q: 'é "x" 日本', n: [1, { a: null }] } }]
const history: Message[] = [
  { role: 'user', content: 'earlier' },
  { role: 'assistant', content: 'indeed' },
]
const open: Message[] = [{ role: 'user', content: 'look it up' }, { role: 'assistant', content: 'Looking.', toolCalls: calls }]
const results = { toolResults: [{ toolCallId: 'call-1', toolName: 'search', args: {}, success: true, data: { hits: 2 }, error: null }] }
const paragraphs = Array.from({ length: 24 }, (_, n): Message => ({ role: n % 2 === 0 ? 'user' : 'assistant', content: `Paragraph ${n}: ${'some more words '.repeat(40)}` }))
const lines = (messages: Message[]) => messages.map(({ role, content }) => `${role}: ${content}`)

/** What happens in a turn, and what comes of it. */
interface Case {
  before: Message[]
  input: string | ToolResultsInput
  reply: Reply
  window?: number
  compress?: true
  abort?: 'before' | 'during'
  breaks?: true
  /** What the session resolves to; without it the turn fails. */
  resolves?: SendResult
  rejects?: unknown
  /** The messages that the model saw after the system messages; `undefined` where it saw nothing. */
  sees?: string[]
  /** The records that the turn added. */
  stores?: Message[]
}

const said: Reply = { pieces: ['Hello ', 'there', '! 🎉'] }
const answered: SendResult = { content: 'Hello there! 🎉', usage: USAGE, finishReason: 'stop' }
const toolMessage: Message = { role: 'tool', content: '{"hits":2}', toolCallId: 'call-1' }
const assistant: Message = { role: 'assistant', content: 'Hello there! 🎉' }
const withResults = ['user: look it up', `assistant: Looking. | call-1 search(${JSON.stringify(calls[0]?.input)})`, 'tool call-1: {"hits":2}']

const cases: Record<string, Case> = {
  'a plain answer': {
    before: history,
    input: 'hello',
    reply: said,
    resolves: answered,
    sees: [...lines(history), 'user: hello'],
    stores: [{ role: 'user', content: 'hello' }, assistant],
  },
  'tool calls': {
    before: [],
    input: 'hello',
    reply: { toolCalls: calls },
    resolves: { content: '', toolCalls: calls, usage: USAGE, finishReason: 'tool_calls' },
    sees: ['user: hello'],
    stores: [{ role: 'user', content: 'hello' }, { role: 'assistant', content: '', toolCalls: calls }],
  },
  'tool results': { before: open, input: results, reply: said, resolves: answered, sees: withResults, stores: [toolMessage, assistant] },
  'tool results as text': { before: open, input: JSON.stringify(results), reply: said, resolves: answered, sees: withResults, stores: [toolMessage, assistant] },
  compression: { before: paragraphs, input: 'hello', reply: said, window: 4_000, compress: true, resolves: answered, stores: [{ role: 'user', content: 'hello' }, assistant] },
  'an error': { before: history, input: 'hello', reply: { failure: { message: 'no good', when: 'at once' } }, rejects: expect.objectContaining({ message: expect.stringContaining('no good') }) },
  'an error midway': { before: history, input: 'hello', reply: { ...said, failure: { message: 'no good', when: 'midway' } }, rejects: expect.objectContaining({ message: expect.stringContaining('no good') }) },
  'an abort before': { before: history, input: 'hello', reply: said, abort: 'before', rejects: 'enough', sees: undefined },
  'an abort during': { before: history, input: 'hello', reply: { ...said, silent: true }, abort: 'during', rejects: 'enough' },
  'a storage that fails': { before: history, input: 'hello', reply: said, breaks: true, rejects: expect.any(Error) },
}

const combinations = Object.keys(methods).flatMap((method) =>
  Object.keys(kinds).flatMap((kind) => Object.keys(storages).flatMap((storage) => Object.keys(models).map((model) => ({ method, kind, storage, model })))),
)

/** Everything that can be seen of a turn from outside, once it is over. */
interface Outcome {
  settled: SendResult | { rejected: unknown }
  /** Of a stream: its pieces, joined. */
  streamed: string | undefined
  /** `undefined` where the storage cannot be read any more. */
  stored: { records: Message[]; insight: string | null } | undefined
  saw: { system: string; messages: string[] } | undefined
  /** What `compressFn` was given. */
  summarised: string[]
}

async function run({ before, input, reply, window = 100_000, compress, abort, breaks }: Case, { method, kind, storage: where, model: which }: (typeof combinations)[number]): Promise<Outcome> {
  const controller = new AbortController()
  const place = await pick(storages, where)()
  const { storage } = place
  const script = async () => {
    if (breaks === true) await place.breakDown()
    if (abort === 'during') setTimeout(() => controller.abort('enough'), 10)
    return reply
  }
  const model = await pick(models, which)(script, window)
  ends.push(model.stop)
  const compressed: Message[] = []
  const compressFn = async (messages: Message[]) => {
    compressed.push(...messages)
    return 'SUMMARY'
  }
  const { make, fill } = pick(kinds, kind)
  const session = await make({ storage, llm: model.llm, ...(compress === true && { compressFn }) })
  const { id } = session.meta
  await fill(storage, id)
  for (const record of before) await storage.appendRecord(id, record)
  if (abort === 'before') controller.abort('enough')

  const pieces: string[] = []
  const settled = await pick(methods, method)(session, input, pieces, controller.signal).then(
    (result) => ({ ...result, content: result.content ?? '' }),
    (rejected: unknown) => ({ rejected }),
  )
  const readable = breaks === true ? place.reopened() : storage
  const stored = readable && {
    records: (await readable.listRecords(id)).map(({ timestamp: _, ...record }) => record),
    insight: await readable.getInsight(id),
  }
  if (model.seen.length > 1) throw new Error('the model was called more than once')
  return { settled, streamed: method === 'stream' ? pieces.join('') : undefined, stored, saw: model.seen[0], summarised: lines(compressed).filter((line) => line !== 'system: SUMMARY') }
}

function expected({ before, resolves, rejects, sees, stores = [], compress, abort, breaks, reply }: Case, { method, kind, storage }: (typeof combinations)[number]) {
  const { system, insight } = pick(kinds, kind)
  const summary = compress === true ? '\n\nSUMMARY' : ''
  const [someMessages, someRecords, start]: unknown[] = [expect.arrayContaining(['user: hello']), expect.any(Array), expect.stringMatching(new RegExp(`^(${(reply.pieces ?? []).join('')})?$`))]
  const saw = { system: expect.stringMatching(new RegExp(`^${system}${summary}$`)), messages: sees ?? someMessages }
  return {
    settled: resolves ?? { rejected: rejects },
    streamed: method === 'stream' ? (resolves?.content ?? start) : undefined,
    stored: breaks === true && storage === 'the in-memory storage' ? undefined : { records: [...before, ...stores], insight: resolves === undefined ? insight : null },
    saw: abort === 'before' ? undefined : saw,
    summarised: compress === true ? someRecords : [],
  }
}

function pick<T>(table: Record<string, T>, name: string): T {
  const row = table[name]
  if (row === undefined) throw new Error(`no such row: ${name}`)
  return row
}

describe.each(Object.entries(cases))('%s', (_name, now) => {
  it.each(combinations)('$method of $kind on $storage with $model', async (combination) => {
    const outcome = await run(now, combination)
    expect(outcome).toEqual(expected(now, combination))
    // Every stored message is in the summary or in the prompt, none in both.
    const shown = lines(now.before).filter((line) => now.compress === true && outcome.saw?.messages.includes(line))
    expect([...outcome.summarised, ...shown]).toEqual(now.compress === true ? lines(now.before) : [])
  })
})

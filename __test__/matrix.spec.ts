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
const kinds: Record<string, { make(options: Options): Promise<AnySession>; fill(storage: MainStorage, id: string): Promise<void>; system: RegExp; left: object }> = {
  'a session': {
    make: (options) => createSession({ ...options, label: LABEL, systemPrompt: 'PROMPT' }),
    fill: (storage, id) => storage.putInsight(id, 'INSIGHT'),
    system: /^PROMPT\n\n<session_identity>[^]*matrix[^]*<\/session_identity>\n\nINSIGHT$/,
    left: { insight: null },
  },
  'a main session': {
    make: (options) => createMainSession({ ...options, label: LABEL, systemPrompt: 'PROMPT' }),
    fill: (storage, id) => storage.putMemory(id, 'SYNTHESIS'),
    system: /^PROMPT\n\nSYNTHESIS$/,
    left: { insight: null },
  },
}

interface Turn {
  result: SendResult
  pieces?: string[]
}
const methods: Record<string, (session: AnySession, input: string | ToolResultsInput, signal?: AbortSignal) => Promise<Turn>> = {
  send: async (session, input, signal) => ({ result: await session.send(input, { signal }) }),
  async stream(session, input, signal) {
    const stream = session.stream(input, { signal })
    const pieces: string[] = []
    for await (const piece of stream) pieces.push(piece)
    return { result: await stream.result, pieces }
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
const stored: Message = { role: 'assistant', content: 'Hello there! 🎉' }
const withResults = ['user: look it up', `assistant: Looking. | call-1 search(${JSON.stringify(calls[0]?.input)})`, 'tool call-1: {"hits":2}']

const cases: Record<string, Case> = {
  'a plain answer': {
    before: history,
    input: 'hello',
    reply: said,
    resolves: answered,
    sees: [...lines(history), 'user: hello'],
    stores: [{ role: 'user', content: 'hello' }, stored],
  },
  'tool calls': {
    before: [],
    input: 'hello',
    reply: { toolCalls: calls },
    resolves: { content: '', toolCalls: calls, usage: USAGE, finishReason: 'tool_calls' },
    sees: ['user: hello'],
    stores: [{ role: 'user', content: 'hello' }, { role: 'assistant', content: '', toolCalls: calls }],
  },
  'tool results': { before: open, input: results, reply: said, resolves: answered, sees: withResults, stores: [toolMessage, stored] },
  'tool results as text': { before: open, input: JSON.stringify(results), reply: said, resolves: answered, sees: withResults, stores: [toolMessage, stored] },
  compression: { before: paragraphs, input: 'hello', reply: said, window: 4_000, compress: true, resolves: answered, stores: [{ role: 'user', content: 'hello' }, stored] },
  'an error': { before: history, input: 'hello', reply: { failure: { message: 'no good', when: 'at once' } }, rejects: expect.objectContaining({ message: expect.stringContaining('no good') }) },
  'an error midway': { before: history, input: 'hello', reply: { ...said, failure: { message: 'no good', when: 'midway' } }, rejects: expect.objectContaining({ message: expect.stringContaining('no good') }) },
  'an abort before': { before: history, input: 'hello', reply: said, abort: 'before', rejects: 'enough', sees: undefined },
  'an abort during': { before: history, input: 'hello', reply: { ...said, silent: true }, abort: 'during', rejects: 'enough' },
  'a storage that fails': { before: history, input: 'hello', reply: said, breaks: true, rejects: expect.any(Error) },
}

const combinations = Object.keys(methods).flatMap((method) =>
  Object.keys(kinds).flatMap((kind) => Object.keys(storages).flatMap((storage) => Object.keys(models).map((model) => ({ method, kind, storage, model })))),
)

describe.each(Object.entries(cases))('%s', (name, expected) => {
  it.each(combinations)('$method of $kind on $storage with $model', async ({ method, kind, storage: where, model: which }) => {
    const controller = new AbortController()
    const place = await (storages[where] as () => Promise<Place>)()
    const { storage } = place
    const model = await (models[which] as (script: Script, window: number) => Promise<Model>)(async () => {
      if (expected.breaks === true) await place.breakDown()
      if (expected.abort === 'during') setTimeout(() => controller.abort('enough'), 10)
      return expected.reply
    }, expected.window ?? 100_000)
    ends.push(model.stop)

    const compressed: Message[][] = []
    const compressFn = async (messages: Message[]) => {
      compressed.push(messages)
      return 'SUMMARY'
    }
    const { make, fill, system, left } = kinds[kind] as (typeof kinds)[string]
    const session = await make({ storage, llm: model.llm, ...(expected.compress === true && { compressFn }) })
    const { id } = session.meta
    await fill(storage, id)
    for (const record of expected.before) await storage.appendRecord(id, record)
    const insight = await storage.getInsight(id)

    if (expected.abort === 'before') controller.abort('enough')
    const turn = (methods[method] as (typeof methods)[string])(session, expected.input, controller.signal)

    if (expected.resolves === undefined) {
      await expect(turn, name).rejects.toEqual(expected.rejects)
    } else {
      const { result, pieces } = await turn
      expect({ ...result, content: result.content ?? '' }).toEqual(expected.resolves)
      if (pieces !== undefined) expect(pieces.join('')).toBe(expected.resolves.content)
    }

    const after = expected.breaks === true ? place.reopened() : storage
    if (after !== undefined) {
      const records = (await after.listRecords(id)).map(({ timestamp: _, ...record }) => record)
      expect(records).toEqual([...expected.before, ...(expected.stores ?? [])])
      expect({ insight: await after.getInsight(id) }).toEqual(expected.resolves === undefined ? { insight } : left)
    }

    if (expected.abort === 'before') {
      expect(model.seen).toEqual([])
    } else {
      expect(model.seen).toHaveLength(1)
      const [seen] = model.seen
      if (expected.sees !== undefined) expect(seen).toEqual({ system: expect.stringMatching(system), messages: expected.sees })
      if (expected.compress === true) {
        expect(seen?.system).toMatch(new RegExp(`${system.source.slice(0, -1)}\n\nSUMMARY$`))
        const shown = lines(expected.before).filter((line) => seen?.messages.includes(line))
        const summarised = lines(compressed.flat()).filter((line) => line !== 'system: SUMMARY')
        expect([...summarised, ...shown]).toEqual(lines(expected.before))
        expect(seen?.messages.at(-1)).toBe('user: hello')
      }
    }
  })
})

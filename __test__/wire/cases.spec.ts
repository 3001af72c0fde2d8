import { createServer } from 'node:net'
import { InMemoryStorageAdapter, type LLMAdapter, type LLMCompleteOptions } from '@stello-ai/session'
import { describe, expect, it } from 'vitest'
import { MapStorage } from '../support/map-storage.js'
import { contents } from '../support/storages.js'
import { cases, type WireCase } from './cases.mjs'
import { more } from './more-cases.mjs'
import { expected, type Expected } from './expected.js'
import { moreExpected } from './more-expected.js'
import { adapterOf, completed, faultOf, KEY, QUESTION, streamed, TOOLS, turned, type Outcome, type Protocol } from './outcome.js'
import { withServer, type WireServer } from './server.mjs'

/** A port on which nothing listens. */
async function deadUrl() {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

const having = (properties: object): unknown => expect.objectContaining(properties)

/** What is expected, in the form that {@link shape} gives an outcome. */
function promised({ pieces, content, error, finish, usage, reasoning, calls, fragments }: Expected, protocol: Protocol, reason: unknown) {
  if (error === 'aborted') return { pieces, error: reason }
  if (error !== undefined) return { pieces, error: having({ provider: protocol === 'o' ? 'openai' : 'anthropic', ...error }) }
  return { pieces, content: pieces === undefined ? content : undefined, finish, usage, reasoning, calls: fragments ?? calls }
}

/** An outcome as it is compared: an error by its properties, calls by name and arguments. */
function shape({ pieces, content, error, finishReason: finish, usage, reasoning, calls, fragments }: Outcome, expectation: Expected) {
  if (error !== undefined) return { pieces, error: faultOf(error) }
  const read = expectation.fragments ? undefined : calls ?? fragments?.map(({ name, input }) => ({ name, input: JSON.parse(['', 'null'].includes(input) ? '{}' : input) }))
  return {
    pieces,
    content: pieces === undefined ? content : undefined,
    finish,
    usage,
    reasoning,
    calls: read?.map(({ name, input }) => [name, input]),
    ...(expectation.fragments && { calls: fragments }),
  }
}

/** The request that a case must make. */
function request({ p, op, o = {} }: WireCase, messages: unknown[], system?: string) {
  const stream = op === 'stream' || (o.maxTokens ?? 0) > 21_333
  const [tool] = TOOLS
  const common = { 'content-type': 'application/json', 'accept-encoding': 'gzip', 'user-agent': expect.stringMatching(/^stello-session\/\d/) }
  if (p === 'o') {
    return {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: having({ ...common, authorization: `Bearer ${KEY}` }),
      body: {
        model: 'm',
        max_tokens: 4096,
        tools: [{ type: 'function', function: { name: tool.name, description: tool.description, parameters: tool.inputSchema } }],
        messages: [...(system === undefined ? [] : [{ role: 'system', content: system }]), ...messages],
        stream,
        ...(stream && { stream_options: { include_usage: true } }),
      },
    }
  }
  return {
    method: 'POST',
    path: '/v1/messages',
    headers: having({ ...common, 'x-api-key': KEY, 'anthropic-version': '2023-06-01' }),
    body: {
      model: o.model ?? 'm',
      max_tokens: o.maxTokens ?? 8192,
      tools: [{ name: tool.name, description: tool.description, input_schema: tool.inputSchema }],
      messages,
      ...(system !== undefined && { system }),
      ...(stream && { stream }),
    },
  }
}

const requestsOf = ({ requests }: WireServer) => requests.map(({ text: _, ...seen }) => seen)

/** Makes the call of a case at its server, and says what came of it. */
async function play<R>({ p, r, o = {} }: WireCase, settings: object, call: (llm: LLMAdapter, options: LLMCompleteOptions) => Promise<R>) {
  return withServer(r, async (server) => {
    const llm = adapterOf(p, o.dead ? await deadUrl() : server.url, { maxRetries: o.maxRetries, model: o.model ?? 'm', ...settings })
    const reason = new Error('enough')
    const abort = new AbortController()
    if (o.abortMs === -1) abort.abort(reason)
    else if (o.abortMs !== undefined) void server.until(() => server.requests.length > 0).then(() => setTimeout(() => abort.abort(reason), o.abortMs))
    const began = performance.now()
    const result = await call(llm, { signal: o.abortMs === undefined ? undefined : abort.signal, tools: TOOLS })
    const took = performance.now() - began
    if (o.abortMs !== undefined) await server.until(() => server.closed === server.connections)
    return { result, reason, took, requests: requestsOf(server) }
  })
}

interface Row {
  wireCase: WireCase
  expectation: Expected
  settings: object
  name: string
}

/** A case with a time limit is played under each limit that covers it. */
const all: Row[] = [...cases, ...more].flatMap((wireCase) => {
  const { id, n, op, o } = wireCase
  const row = { wireCase, expectation: expected[id] ?? moreExpected[id] }
  if (o?.timeout === undefined) return { ...row, settings: {}, name: `${id} ${n}` }
  return ['timeoutMs', ...(op === 'stream' ? ['idleTimeoutMs'] : [])].map((limit) => ({ ...row, settings: { [limit]: o.timeout }, name: `${id} ${n} (${limit})` }))
})

describe.concurrent('an adapter by itself', () => {
  it.for(all)('$name', async ({ wireCase, expectation, settings }) => {
    const { p, op, o = {} } = wireCase
    const { attempts = 1, waits = 0 } = expectation
    const { result, reason, took, requests } = await play(wireCase, settings, (llm, options) =>
      (op === 'stream' ? streamed : completed)(llm, { ...options, maxTokens: o.maxTokens }),
    )
    expect(shape(result, expectation)).toEqual(promised(expectation, p, reason))
    expect(requests).toEqual(Array.from({ length: attempts }, () => request(wireCase, QUESTION)))
    expect(took).toBeGreaterThanOrEqual(waits)
  })
})

const storages = [
  { kind: 'native', make: () => new InMemoryStorageAdapter() },
  { kind: 'JavaScript', make: () => new MapStorage() },
]

/** What a turn leaves in the storage; nothing at all where it fails. */
function left({ pieces, content, calls, reasoning, error }: Expected) {
  if (error !== undefined) return { records: [], insight: 'it rains', systemPrompt: 'be brief' }
  return {
    records: [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: content ?? pieces?.join('') ?? '', calls, reasoningContent: reasoning },
    ],
    insight: null,
    systemPrompt: 'be brief',
  }
}

describe.concurrent.each(storages)('a turn on a $kind storage', ({ make }) => {
  it.for(all)('$name', async ({ wireCase, expectation: { turnError, ...row }, settings }) => {
    const { p, op, o = {} } = wireCase
    const expectation: Expected = { ...row, ...(turnError && { error: turnError }) }
    const storage = make()
    const { result, reason, requests } = await play(wireCase, { ...settings, maxOutputTokens: o.maxTokens }, (llm, options) => turned(storage, llm, op, options))
    expect(shape(result.outcome, expectation)).toEqual(promised(expectation, p, reason))
    expect(requests).toEqual(Array.from({ length: expectation.attempts ?? 1 }, () => request(wireCase, QUESTION, 'be brief\n\nit rains')))
    const { records, insight, systemPrompt } = await contents(storage, result.sessionId)
    const seen = records.map(({ role, content, toolCalls, reasoningContent }) => ({ role, content, calls: toolCalls?.map(({ name, input }) => [name, input]), reasoningContent }))
    expect({ records: seen, insight, systemPrompt }).toEqual(left(expectation))
  })
})

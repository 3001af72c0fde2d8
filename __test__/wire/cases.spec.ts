import { createServer } from 'node:net'
import { InMemoryStorageAdapter, LLMError, type LLMCompleteOptions } from '@stello-ai/session'
import { describe, expect, it } from 'vitest'
import { MapStorage } from '../support/map-storage.js'
import { contents } from '../support/storages.js'
import { cases, type WireCase } from './cases.mjs'
import { more } from './more-cases.mjs'
import { expected, type Expected } from './expected.js'
import { moreExpected } from './more-expected.js'
import { adapterOf, completed, faultOf, KEY, QUESTION, streamed, TOOLS, turned, type Outcome, type Protocol } from './outcome.js'
import { withServer, type Seen, type WireServer } from './server.mjs'

/** A port on which nothing listens. */
async function deadUrl() {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

function check(outcome: Outcome, expectation: Expected, reason: unknown, protocol: Protocol) {
  const { error = undefined } = expectation
  if (error === 'aborted') expect(outcome.error).toBe(reason)
  else if (error !== undefined) {
    expect(outcome.error).toBeInstanceOf(LLMError)
    expect(faultOf(outcome.error)).toMatchObject({ provider: protocol === 'o' ? 'openai' : 'anthropic', ...error })
  } else if (outcome.error !== undefined) throw outcome.error
  expect(outcome.pieces).toEqual(expectation.pieces)
  if (error !== undefined) return
  expect(outcome.finishReason).toBe(expectation.finish)
  expect(outcome.usage).toEqual(expectation.usage)
  expect(outcome.reasoning).toBe(expectation.reasoning)
  if (expectation.content !== undefined) expect(outcome.content).toBe(expectation.content)
  if (expectation.fragments !== undefined) return
  const calls = outcome.calls ?? outcome.fragments?.map(({ name, input }) => ({ name, input: JSON.parse(['', 'null'].includes(input) ? '{}' : input) }))
  expect(calls?.map(({ name, input }) => [name, input])).toEqual(expectation.calls)
}

function checkRequests(requests: Seen[], { p, op, o = {} }: WireCase, messages: unknown[], system?: string) {
  for (const { method, path, headers, body } of requests) {
    expect(method).toBe('POST')
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'accept-encoding': 'gzip', 'user-agent': expect.stringMatching(/^stello-session\/\d/) })
    const stream = op === 'stream' || (o.maxTokens ?? 0) > 21_333
    const tool = TOOLS[0]
    if (p === 'o') {
      expect(path).toBe('/v1/chat/completions')
      expect(headers.authorization).toBe(`Bearer ${KEY}`)
      expect(body).toEqual({
        model: 'm',
        max_tokens: 4096,
        tools: [{ type: 'function', function: { name: tool.name, description: tool.description, parameters: tool.inputSchema } }],
        messages: [...(system === undefined ? [] : [{ role: 'system', content: system }]), ...messages],
        stream,
        ...(stream && { stream_options: { include_usage: true } }),
      })
    } else {
      expect(path).toBe('/v1/messages')
      expect(headers).toMatchObject({ 'x-api-key': KEY, 'anthropic-version': '2023-06-01' })
      expect(headers).not.toHaveProperty('authorization')
      expect(body).toEqual({
        model: o.model ?? 'm',
        max_tokens: o.maxTokens ?? 8192,
        tools: [{ name: tool.name, description: tool.description, input_schema: tool.inputSchema }],
        messages,
        ...(system !== undefined && { system }),
        ...(stream && { stream }),
      })
    }
  }
}

/** Runs `call` against the case's server and compares requests and waits with what is expected. */
async function play<R>(wireCase: WireCase, { attempts = 1, waits = 0 }: Expected, settings: object, call: (llm: ReturnType<typeof adapterOf>, options: LLMCompleteOptions) => Promise<R>, compare: (result: R, server: WireServer, reason: unknown) => Promise<void> | void) {
  const { p, r, o = {} } = wireCase
  await withServer(r, async (server) => {
    const llm = adapterOf(p, o.dead ? await deadUrl() : server.url, { maxRetries: o.maxRetries, model: o.model ?? 'm', ...settings })
    const reason = new Error('enough')
    const abort = new AbortController()
    if (o.abortMs === -1) abort.abort(reason)
    else if (o.abortMs !== undefined) void server.until(() => server.requests.length > 0).then(() => setTimeout(() => abort.abort(reason), o.abortMs))
    const began = performance.now()
    const result = await call(llm, { signal: o.abortMs === undefined ? undefined : abort.signal, tools: TOOLS })
    const took = performance.now() - began
    expect(server.requests).toHaveLength(attempts)
    expect(took).toBeGreaterThanOrEqual(waits)
    if (o.abortMs !== undefined && attempts > 0) await server.until(() => server.closed > 0)
    await compare(result, server, reason)
  })
}

const all: Array<{ wireCase: WireCase; expectation: Expected; settings: object; name: string }> = [...cases, ...more].flatMap((wireCase) => {
  const expectation = expected[wireCase.id] ?? moreExpected[wireCase.id]
  const limits: Array<{ settings: object; note: string }> =
    wireCase.o?.timeout === undefined
      ? [{ settings: {}, note: '' }]
      : ['timeoutMs', ...(wireCase.op === 'stream' ? ['idleTimeoutMs'] : [])].map((name) => ({ settings: { [name]: wireCase.o!.timeout }, note: ` (${name})` }))
  return limits.map(({ settings, note }) => ({ wireCase, expectation, settings, name: `${wireCase.id} ${wireCase.n}${note}` }))
})

describe.concurrent('an adapter by itself', () => {
  it.for(all)('$name', async ({ wireCase, expectation, settings }) => {
    const { op, o = {} } = wireCase
    await play(
      wireCase,
      expectation,
      settings,
      (llm, options) => (op === 'stream' ? streamed : completed)(llm, { ...options, maxTokens: o.maxTokens }),
      (outcome, server, reason) => {
        check(outcome, expectation, reason, wireCase.p)
        if (expectation.fragments) expect(outcome.fragments).toEqual(expectation.fragments)
        checkRequests(server.requests, wireCase, QUESTION)
      },
    )
  })
})

const storages = [
  { kind: 'native', make: () => new InMemoryStorageAdapter() },
  { kind: 'JavaScript', make: () => new MapStorage() },
]

describe.concurrent.each(storages)('a turn on a $kind storage', ({ make }) => {
  it.for(all)('$name', async ({ wireCase, expectation, settings }) => {
    const { p, op, o = {} } = wireCase
    const storage = make()
    await play(
      wireCase,
      expectation,
      { ...settings, maxOutputTokens: o.maxTokens },
      (llm, options) => turned(storage, llm, op, options),
      async ({ outcome, sessionId }, server, reason) => {
        const { turnError, ...asExpected } = expectation
        const result = turnError === undefined ? asExpected : { ...asExpected, error: turnError }
        check(outcome, result, reason, p)
        checkRequests(server.requests, wireCase, QUESTION, 'be brief\n\nit rains')
        const stored = await contents(storage, sessionId)
        if (result.error !== undefined) {
          expect(stored).toMatchObject({ records: [], insight: 'it rains', systemPrompt: 'be brief' })
          return
        }
        const text = expectation.content ?? expectation.pieces?.join('') ?? ''
        const [asked, answered] = stored.records
        expect(asked).toMatchObject({ role: 'user', content: 'q' })
        expect(answered).toMatchObject({ role: 'assistant', content: text })
        expect(answered.toolCalls?.map(({ name, input }) => [name, input])).toEqual(expectation.calls)
        expect(answered.reasoningContent).toBe(expectation.reasoning)
        expect(stored.insight).toBeNull()
      },
    )
  })
})

import { createAnthropicAdapter, createClaude, createGPT, createOpenAICompatibleAdapter, type LLMAdapter, type Message } from '@stello-ai/session'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { amsg, ck, comp, d, R, S, aText, oText } from './frames.mjs'
import { adapterOf, completed, KEY, QUESTION, streamed } from './outcome.js'
import { withServer, WireServer, type Seen } from './server.mjs'

const answer = ({ path, body }: Seen) => {
  const chat = path.includes('/chat/completions')
  if (body.stream) return S(chat ? oText('\n') : aText())
  return R(200, chat ? comp({ content: 'ok' }) : amsg([{ type: 'text', text: 'ok' }]))
}

/** The request that `call` makes with the adapter that `make` makes. */
async function requestOf(make: (url: string) => LLMAdapter, call: (llm: LLMAdapter) => Promise<unknown> = (llm) => llm.complete(QUESTION)) {
  return withServer(answer, async (server) => {
    await call(make(server.url))
    return server.requests[0]
  })
}

const common = { apiKey: KEY, model: 'm', maxContextTokens: 10_000 }
const compatible = (more: object = {}) => (url: string) => createOpenAICompatibleAdapter({ baseURL: `${url}/v1`, ...common, ...more })
const gpt = (more: object = {}) => (url: string) => createGPT({ baseURL: `${url}/v1`, ...common, ...more })
const anthropic = (more: object = {}) => (url: string) => createAnthropicAdapter({ baseURL: url, ...common, ...more })
const claude = (more: object = {}) => (url: string) => createClaude({ baseURL: url, ...common, ...more })

const bodyOf = async (make: (url: string) => LLMAdapter, messages: Message[] = QUESTION, options?: Parameters<LLMAdapter['complete']>[1]) =>
  (await requestOf(make, (llm) => llm.complete(messages, options))).body

afterEach(() => vi.unstubAllEnvs())

describe('where a request goes', () => {
  it.each([
    ['/v1', '/v1/chat/completions'],
    ['/v1///', '/v1/chat/completions'],
    ['', '/chat/completions'],
    ['/a/b?api-version=2024-10-21&x=1', '/a/b/chat/completions?api-version=2024-10-21&x=1'],
    ['/a/?q=a%2Fb#fragment', '/a/chat/completions?q=a%2Fb'],
    [' ', '/chat/completions'],
  ])('for the OpenAI base %j is %j', async (base, path) => {
    expect((await requestOf((url) => createOpenAICompatibleAdapter({ ...common, baseURL: url + base }))).path).toBe(path)
  })

  it.each([
    ['', '/v1/messages'],
    ['/', '/v1/messages'],
    ['/v1', '/v1/messages'],
    ['/v1/', '/v1/messages'],
    ['/proxy/anthropic', '/proxy/anthropic/v1/messages'],
    ['/proxy/v1?beta=true', '/proxy/v1/messages?beta=true'],
    ['/v1beta', '/v1beta/v1/messages'],
  ])('for the Anthropic base %j is %j', async (base, path) => {
    expect((await requestOf((url) => createAnthropicAdapter({ ...common, baseURL: url + base }))).path).toBe(path)
  })

  it('is said by the environment where no base is given', async () => {
    await withServer(answer, async ({ url, requests }) => {
      vi.stubEnv('OPENAI_BASE_URL', `${url}/from-env/v1`)
      vi.stubEnv('ANTHROPIC_BASE_URL', `${url}/from-env`)
      vi.stubEnv('OPENAI_API_KEY', 'env-openai-key')
      vi.stubEnv('ANTHROPIC_API_KEY', 'env-anthropic-key')
      await createGPT({ model: 'gpt-4o' }).complete(QUESTION)
      await createClaude({ model: 'claude-opus-4-20250514' }).complete(QUESTION)
      await createAnthropicAdapter({ model: 'm', maxContextTokens: 9 }).complete(QUESTION)
      expect(requests.map(({ path, headers }) => [path, headers.authorization ?? headers['x-api-key']])).toEqual([
        ['/from-env/v1/chat/completions', 'Bearer env-openai-key'],
        ['/from-env/v1/messages', 'env-anthropic-key'],
        ['/from-env/v1/messages', 'env-anthropic-key'],
      ])
    })
  })

  it('stays at home: a redirect elsewhere gets neither key nor messages', async () => {
    await withServer([R(200, comp({ content: 'stolen' }))], async (other) => {
      for (const status of [301, 302, 303, 307, 308]) {
        await withServer([R(status, '', { location: `${other.url}/v1/chat/completions` })], async ({ url, requests }) => {
          const { error } = await completed(adapterOf('o', url))
          expect(error).toMatchObject({ name: 'LLMError', status, code: `http_${status}`, retryable: false })
          expect(requests).toHaveLength(1)
        })
      }
      expect(other.connections).toBe(0)
    })
  })

  it('is the new place after a redirect at home, with the whole body', async () => {
    const script = (seen: Seen) => (seen.path === '/v2/chat/completions?x=1' ? answer(seen) : R(308, '', { location: '/v2/chat/completions?x=1' }))
    await withServer(script, async ({ url, requests }) => {
      expect((await completed(adapterOf('o', url))).content).toBe('ok')
      expect((await streamed(adapterOf('o', url))).pieces?.length).toBe(3)
      expect(requests.map(({ path }) => path)).toEqual(['/v1/chat/completions', '/v2/chat/completions?x=1', '/v1/chat/completions', '/v2/chat/completions?x=1'])
      expect(requests[1].body).toEqual(requests[0].body)
      expect(requests[1].headers.authorization).toBe(`Bearer ${KEY}`)
    })
  })

  it.each(['nowhere', '', 'ftp://host/v1', 'http://', 'http://a:b@host/v1', 'file:///v1'])('is refused at creation for the base %j', (baseURL) => {
    expect(() => createOpenAICompatibleAdapter({ ...common, baseURL })).toThrow(TypeError)
  })
})

describe('the headers', () => {
  it('carry no authentication for an empty key', async () => {
    const openai = await requestOf(compatible({ apiKey: '' }))
    expect(openai.headers).not.toHaveProperty('authorization')
    const messages = await requestOf(anthropic({ apiKey: '' }))
    expect(messages.headers).not.toHaveProperty('x-api-key')
    expect(messages.headers['anthropic-version']).toBe('2023-06-01')
  })

  it('are missing a key only where none is given: then creation fails', () => {
    vi.stubEnv('OPENAI_API_KEY', undefined)
    vi.stubEnv('ANTHROPIC_API_KEY', '')
    expect(() => createGPT({ model: 'gpt-4o' })).toThrow(TypeError)
    expect(() => createClaude({ model: 'claude-opus-4-20250514' })).toThrow(/ANTHROPIC_API_KEY/)
  })

  it('of the user win, whatever their case', async () => {
    const { headers } = await requestOf(compatible({ headers: { Authorization: 'Token mine', 'USER-AGENT': 'me/1', 'x-title': 'grüße', 'Content-Type': 'application/json; charset=utf-8' } }))
    expect(headers).toMatchObject({ authorization: 'Token mine', 'user-agent': 'me/1', 'content-type': 'application/json; charset=utf-8' })
    expect(headers['x-title']).toBe('grüße')
    const messages = await requestOf(anthropic({ headers: { 'anthropic-version': '2099-01-01', 'anthropic-beta': 'x', 'X-API-Key': 'mine' } }))
    expect(messages.headers).toMatchObject({ 'anthropic-version': '2099-01-01', 'anthropic-beta': 'x', 'x-api-key': 'mine' })
  })

  it('name organization and project of the environment, for OpenAI only', async () => {
    vi.stubEnv('OPENAI_ORG_ID', 'org-1')
    vi.stubEnv('OPENAI_PROJECT_ID', 'proj-1')
    expect((await requestOf(gpt())).headers).toMatchObject({ 'openai-organization': 'org-1', 'openai-project': 'proj-1' })
    expect((await requestOf(compatible({ headers: { 'openai-organization': 'mine' } }))).headers['openai-organization']).toBe('mine')
    expect((await requestOf(anthropic())).headers).not.toHaveProperty('openai-organization')
  })

  it('trim a key that was read from a file', async () => {
    expect((await requestOf(compatible({ apiKey: ` ${KEY}\n` }))).headers.authorization).toBe(`Bearer ${KEY}`)
  })
})

describe('the body of Chat Completions', () => {
  const call = { id: 'c1', name: 'f', input: { a: 1, text: 'é"' } }

  it('has the fields in their order, and tools only if there are any', async () => {
    const { text } = await requestOf(compatible({ temperature: 0.5 }), (llm) => llm.complete(QUESTION, { tools: [] }))
    expect(text).toBe('{"model":"m","max_tokens":4096,"temperature":0.5,"messages":[{"role":"user","content":"q"}],"stream":false}')
  })

  it('limits the output as the call says, else as the adapter, else as the kind of server wants it', async () => {
    expect(await bodyOf(compatible())).toMatchObject({ max_tokens: 4096 })
    expect(await bodyOf(compatible({ maxOutputTokens: 7 }))).toMatchObject({ max_tokens: 7 })
    expect(await bodyOf(compatible({ maxOutputTokens: 7 }), QUESTION, { maxTokens: 9 })).toMatchObject({ max_tokens: 9 })
    expect(Object.keys(await bodyOf(gpt()))).not.toContain('max_completion_tokens')
    const limited = await bodyOf(gpt({ maxOutputTokens: 7 }))
    expect(limited).toMatchObject({ max_completion_tokens: 7 })
    expect(limited).not.toHaveProperty('max_tokens')
  })

  it.each(['o3', 'o3-mini', 'o4-mini', 'o1-preview'])('has no temperature for %s', async (model) => {
    expect(await bodyOf(gpt({ model, temperature: 0.3 }), QUESTION, { temperature: 0.4 })).not.toHaveProperty('temperature')
  })

  it('has the temperature of the call, else of the adapter, zero included', async () => {
    expect(await bodyOf(gpt({ temperature: 0 }))).toMatchObject({ temperature: 0 })
    expect(await bodyOf(gpt({ temperature: 1 }), QUESTION, { temperature: 0 })).toMatchObject({ temperature: 0 })
  })

  it('joins system messages that follow each other, and leaves others where they are', async () => {
    const { messages } = await bodyOf(compatible(), [
      { role: 'system', content: 'a' },
      { role: 'system', content: 'b "quoted"\n' },
      { role: 'user', content: 'q' },
      { role: 'system', content: 'c' },
      { role: 'assistant', content: 'r' },
    ])
    expect(messages).toEqual([
      { role: 'system', content: 'a\n\nb "quoted"\n' },
      { role: 'user', content: 'q' },
      { role: 'system', content: 'c' },
      { role: 'assistant', content: 'r' },
    ])
  })

  it('maps calls and their results', async () => {
    const messages: Message[] = [
      { role: 'user', content: 'q', timestamp: '2026-01-01T00:00:00.000Z' },
      { role: 'assistant', content: '', toolCalls: [call], reasoningContent: 'why' },
      { role: 'tool', content: '', toolCallId: 'c1', isError: true },
      { role: 'assistant', content: 'text', toolCalls: [{ ...call, id: 'c2', input: {} }] },
      { role: 'tool', content: '{"x":1}', toolCallId: 'c2' },
    ]
    const sent = [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1,"text":"é\\""}' } }] },
      { role: 'tool', tool_call_id: 'c1', content: '' },
      { role: 'assistant', content: 'text', tool_calls: [{ id: 'c2', type: 'function', function: { name: 'f', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'c2', content: '{"x":1}' },
    ]
    expect((await bodyOf(compatible(), messages)).messages).toEqual(sent)
    const echoed = await bodyOf(compatible({ echoReasoning: true }), messages)
    expect(echoed.messages).toEqual(sent.map((message, n) => (n === 1 ? { ...message, reasoning_content: 'why' } : message)))
  })

  it('is overlaid by extraBody; undefined removes, null is sent, stream stays', async () => {
    const extraBody = { max_tokens: undefined, top_k: 5, nothing: null, model: 'other', nested: { a: [1, undefined], b: undefined }, stream: true, missing: undefined }
    const { text, body } = await requestOf(compatible({ extraBody }))
    expect(body).toEqual({ model: 'other', messages: QUESTION, top_k: 5, nothing: null, nested: { a: [1, null] }, stream: false })
    expect(text).not.toContain('max_tokens')
  })

  it('asks a stream for its usage, unless extraBody says otherwise', async () => {
    const stream = (more?: object) => requestOf(compatible(more), (llm) => streamed(llm)).then(({ body }) => body.stream_options)
    expect(await stream()).toEqual({ include_usage: true })
    expect(await stream({ extraBody: { stream_options: undefined } })).toBeUndefined()
    expect(await stream({ extraBody: { stream_options: { include_usage: false } } })).toEqual({ include_usage: false })
  })

  it('asks once without stream_options when a server refuses them, and not again', async () => {
    const script = (seen: Seen) =>
      seen.body.stream_options === undefined ? S([d(ck({ content: 'a' }, 'stop')), d('[DONE]')]) : R(400, { error: { message: "Unknown parameter: 'stream_options'" } })
    await withServer(script, async ({ url, requests }) => {
      const llm = adapterOf('o', url)
      expect((await streamed(llm)).pieces).toEqual(['a'])
      expect((await streamed(llm)).pieces).toEqual(['a'])
      expect(requests.map(({ body }) => body.stream_options)).toEqual([{ include_usage: true }, undefined, undefined])
    })
    await withServer([R(400, { error: { message: 'bad messages' } })], async ({ url, requests }) => {
      expect((await streamed(adapterOf('o', url))).error).toMatchObject({ status: 400 })
      expect(requests).toHaveLength(1)
    })
  })

  it('carries text as it is: NUL, lone surrogates, emoji, a key named __proto__', async () => {
    const input = JSON.parse('{"__proto__":{"a":1},"big":1e300,"b":-0.5}')
    const content = 'NUL\0 lone\ud800 🎉 </session_identity> \u2028'
    const { text, body } = await requestOf(compatible(), (llm) => llm.complete([{ role: 'user', content }, { role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 'f', input }] }, { role: 'tool', content, toolCallId: 'c' }]))
    expect(body.messages[0].content).toBe(content)
    expect(body.messages[2].content).toBe(content)
    expect(JSON.parse(body.messages[1].tool_calls[0].function.arguments)).toEqual(input)
    expect(text).toContain('\\ud800')
  })
})

describe('the body of Messages', () => {
  const tool = { name: 'f', description: 'does f', inputSchema: { type: 'object' } }

  it('has a limit always, and system texts apart, wherever they stand', async () => {
    const messages: Message[] = [
      { role: 'system', content: 'a' },
      { role: 'user', content: 'q' },
      { role: 'system', content: 'b' },
      { role: 'assistant', content: 'r' },
      { role: 'system', content: '' },
      { role: 'user', content: 'q2' },
    ]
    expect(await bodyOf(anthropic({ temperature: 0 }), messages, { tools: [tool] })).toEqual({
      model: 'm',
      max_tokens: 8192,
      temperature: 0,
      system: 'a\n\nb',
      tools: [{ name: 'f', description: 'does f', input_schema: { type: 'object' } }],
      messages: [
        { role: 'user', content: 'q' },
        { role: 'assistant', content: [{ type: 'text', text: 'r' }] },
        { role: 'user', content: 'q2' },
      ],
    })
  })

  it('groups results with the text after them, and marks failed and empty ones', async () => {
    const { messages } = await bodyOf(anthropic(), [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: 'let me see', toolCalls: [{ id: 'c1', name: 'f', input: { a: 1 } }, { id: 'c2', name: 'g', input: {} }] },
      { role: 'tool', content: '', toolCallId: 'c1' },
      { role: 'tool', content: 'no', toolCallId: 'c2', isError: true },
      { role: 'user', content: 'and?' },
      { role: 'assistant', content: '' },
      { role: 'user', content: 'go on' },
    ])
    expect(messages).toEqual([
      { role: 'user', content: 'q' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'let me see' },
          { type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 } },
          { type: 'tool_use', id: 'c2', name: 'g', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c1', content: '(no output)' },
          { type: 'tool_result', tool_use_id: 'c2', content: 'no', is_error: true },
          { type: 'text', text: 'and?' },
        ],
      },
      { role: 'user', content: 'go on' },
    ])
  })

  it('begins with the user, even where the history begins with the model', async () => {
    const { messages } = await bodyOf(anthropic(), [
      { role: 'assistant', content: 'welcome' },
      { role: 'user', content: 'q' },
    ])
    expect(messages.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant', 'user'])
    expect(messages[0].content).not.toBe('')
  })

  it('marks the stable part for the cache: first and last system block, and the message before the new input', async () => {
    const cached = { cache_control: { type: 'ephemeral' } }
    const messages: Message[] = [
      { role: 'system', content: 'a' },
      { role: 'system', content: 'b' },
      { role: 'system', content: 'c' },
      { role: 'user', content: 'q' },
      { role: 'assistant', content: 'r' },
      { role: 'user', content: 'new' },
    ]
    const marked = {
      system: [
        { type: 'text', text: 'a', ...cached },
        { type: 'text', text: 'b' },
        { type: 'text', text: 'c', ...cached },
      ],
      messages: [
        { role: 'user', content: 'q' },
        { role: 'assistant', content: [{ type: 'text', text: 'r', ...cached }] },
        { role: 'user', content: 'new' },
      ],
    }
    expect(await bodyOf(claude(), messages)).toMatchObject(marked)
    expect(await bodyOf(anthropic({ promptCache: true }), messages)).toMatchObject(marked)
    for (const make of [claude({ promptCache: false }), anthropic()]) {
      expect(JSON.stringify(await bodyOf(make, messages))).not.toContain('cache_control')
    }
  })

  it('streams underneath above 21 333 tokens of output, and not at them', async () => {
    expect(await bodyOf(anthropic(), QUESTION, { maxTokens: 21_333 })).not.toHaveProperty('stream')
    expect(await bodyOf(anthropic(), QUESTION, { maxTokens: 21_334 })).toMatchObject({ stream: true, max_tokens: 21_334 })
    expect(await bodyOf(anthropic({ maxOutputTokens: 32_000 }))).toMatchObject({ stream: true })
  })
})

describe('waits between attempts', () => {
  it('last until a date that the server names', async () => {
    const until = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 1_000)
    const server = await new WireServer([R(503, '', { 'retry-after': until.toUTCString() }), R(200, comp({ content: 'ok' }))]).start()
    expect((await completed(adapterOf('o', server.url))).content).toBe('ok')
    expect(Date.now()).toBeGreaterThanOrEqual(until.getTime())
    await server.stop()
  })

  it('are not begun when the server does not want another attempt', async () => {
    await withServer([R(503, '', { 'x-should-retry': 'false', 'retry-after': '30' })], async ({ url, requests }) => {
      expect((await completed(adapterOf('a', url))).error).toMatchObject({ status: 503, retryable: false, retryAfterMs: 30_000 })
      expect(requests).toHaveLength(1)
    })
  })
})

describe('connections', () => {
  it('are kept for the next call, of another adapter too', async () => {
    await withServer(answer, async (server) => {
      for (const call of [completed, streamed, completed, streamed]) {
        await call(adapterOf('o', server.url))
        // A connection goes back to the others behind the end of the answer.
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      expect(server.connections).toBe(1)
    })
  })
})

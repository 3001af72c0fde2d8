import { LLMock } from '@copilotkit/aimock'
import { createSession, InMemoryStorageAdapter, LLMError, SqliteStorageAdapter, type LLMAdapter } from '@stello-ai/session'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { adapterOf, streamed, TOOLS, type AdapterSettings, type Protocol } from './outcome.js'

const protocols = [
  { name: 'Chat Completions', protocol: 'o' as Protocol },
  { name: 'Messages', protocol: 'a' as Protocol },
]

describe.each(protocols)('a live server of $name', ({ protocol }) => {
  const mock = new LLMock({ port: 0, logLevel: 'silent', chunkSize: 4 })
  beforeAll(async () => {
    await mock.start()
  })
  afterAll(() => mock.stop())
  beforeEach(() => {
    mock.clearChaos()
    mock.clearFixtures()
    mock.clearRequests()
  })

  const adapter = (settings: AdapterSettings = {}) => adapterOf(protocol, mock.url, { model: protocol === 'o' ? 'gpt-4o' : 'claude-opus-4-20250514', ...settings })
  const start = (llm: LLMAdapter = adapter()) => createSession({ storage: new InMemoryStorageAdapter(), llm, tools: TOOLS, label: '' })

  const text = 'Hallo, 世界 🎉, one two three four five.'

  it('answers a turn, whole and in pieces', async () => {
    mock.onMessage('hello', { content: text, usage: { prompt_tokens: 11, completion_tokens: 7, input_tokens: 11, output_tokens: 7 } })
    const session = await start()
    expect(await session.send('hello')).toMatchObject({ content: text, finishReason: 'stop', usage: { promptTokens: 11, completionTokens: 7 } })
    const stream = session.stream('hello')
    const pieces: string[] = []
    for await (const piece of stream) pieces.push(piece)
    expect(pieces.length).toBeGreaterThan(5)
    expect(pieces.join('')).toBe(text)
    expect(await stream.result).toMatchObject({ content: text, finishReason: 'stop', usage: { promptTokens: 11, completionTokens: 7 } })
    expect((await session.messages()).map(({ role, content }) => [role, content])).toEqual([['user', 'hello'], ['assistant', text], ['user', 'hello'], ['assistant', text]])
  })

  it.each(['send', 'stream'] as const)('calls tools and takes their results by %s', async (how) => {
    mock.on({ userMessage: 'weather', hasToolResult: false }, { toolCalls: [{ id: 'call_1', name: 'f', arguments: '{"a":1,"city":"東京"}' }, { id: 'call_2', name: 'f', arguments: '{}' }] })
    mock.on({ hasToolResult: true }, { content: 'sunny' })
    const session = await start()
    const turn = (input: Parameters<typeof session.send>[0]) => (how === 'send' ? session.send(input) : session.stream(input).result)
    const asked = await turn('weather')
    expect(asked.finishReason).toBe('tool_calls')
    expect(asked.toolCalls?.map(({ name, input }) => [name, input])).toEqual([['f', { a: 1, city: '東京' }], ['f', {}]])
    const toolResults = asked.toolCalls!.map(({ id }, n) => ({ toolCallId: id, toolName: 'f', args: {}, success: n === 0, data: { t: 20 }, error: n === 0 ? null : 'no' }))
    expect((await turn({ toolResults })).content).toBe('sunny')
    expect((await session.messages()).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant'])
  })

  it('reasons apart from its text', async () => {
    mock.onMessage('why', { content: 'because', reasoning: 'let me think' })
    const session = await start()
    expect(await session.stream('why').result).toMatchObject({ content: 'because', reasoningContent: 'let me think' })
  })

  it('fails over a stream that is truncated, and stores nothing', async () => {
    mock.onMessage('hello', { content: text }, { truncateAfterChunks: 4 })
    const session = await start()
    const stream = session.stream('hello')
    const pieces: string[] = []
    const read = async () => {
      for await (const piece of stream) pieces.push(piece)
    }
    const error = await read().catch((failure: unknown) => failure)
    expect(error).toBeInstanceOf(LLMError)
    expect((error as LLMError).code).toMatch(/^(connection|incomplete_stream)$/)
    expect(text.startsWith(pieces.join(''))).toBe(true)
    expect(await session.messages()).toEqual([])
  })

  it('fails over a stream whose server hangs up', async () => {
    mock.onMessage('hello', { content: text.repeat(20) }, { latency: 10, disconnectAfterMs: 60 })
    const { pieces, error } = await streamed(adapter(), undefined, [{ role: 'user', content: 'hello' }])
    expect(pieces!.length).toBeGreaterThan(0)
    expect(error).toMatchObject({ name: 'LLMError', code: 'connection', retryable: true })
  })

  it('is asked again after an error that passes', async () => {
    mock.onMessage('hello', { content: text })
    mock.nextRequestError(503, { message: 'busy', type: 'server_error' })
    const session = await start()
    expect((await session.send('hello')).content).toBe(text)
    expect(mock.getRequests()).toHaveLength(2)
  })

  it('is not asked again after an error that stays', async () => {
    mock.nextRequestError(400, { message: 'no such thing', type: 'invalid_request_error' })
    const session = await start()
    await expect(session.send('hello')).rejects.toMatchObject({ name: 'LLMError', status: 400, type: 'invalid_request_error', message: '400 no such thing', retryable: false })
    expect(mock.getRequests()).toHaveLength(1)
    expect(await session.messages()).toEqual([])
  })

  it.each([
    { fault: 'drops requests', chaos: { dropRate: 1 }, error: { status: 500, retryable: true } },
    { fault: 'sends what is not JSON', chaos: { malformedRate: 1 }, error: { code: 'invalid_response' } },
    { fault: 'limits the rate', chaos: { rateLimitRate: 1 }, error: { status: 429, retryable: true, retryAfterMs: 1_000 } },
    { fault: 'closes every connection', chaos: { disconnectRate: 1 }, error: { code: 'connection', retryable: true } },
  ])('fails with a clear error when it $fault', async ({ chaos, error }) => {
    mock.onMessage('hello', { content: text })
    mock.setChaos(chaos)
    const session = await start(adapter({ maxRetries: 0 }))
    await expect(session.send('hello')).rejects.toMatchObject({ name: 'LLMError', ...error })
    await expect(session.stream('hello').result).rejects.toMatchObject({ name: 'LLMError', ...error })
    expect(await session.messages()).toEqual([])
    mock.clearChaos()
    expect((await session.send('hello')).content).toBe(text)
  })

  it('fails when it is slower than the adapter waits', async () => {
    mock.onMessage('hello', { content: text })
    mock.setChaos({ latencyMs: 2_000 })
    const session = await start(adapter({ maxRetries: 0, timeoutMs: 100 }))
    await expect(session.send('hello')).rejects.toMatchObject({ name: 'LLMError', code: 'timeout' })
  })

  it('keeps whole turns only, through faults at random', async () => {
    mock.onMessage('hello', { content: text })
    mock.setChaos({ dropRate: 0.2, malformedRate: 0.2, disconnectRate: 0.2 })
    const session = await createSession({ storage: new SqliteStorageAdapter({ path: ':memory:' }), llm: adapter({ maxRetries: 0 }), label: '' })
    let answered = 0
    for (let turn = 0; turn < 60; turn++) {
      const outcome = await (turn % 2 === 0 ? session.send('hello') : session.stream('hello').result).catch((error: unknown) => error)
      if (outcome instanceof Error) continue
      answered++
    }
    const roles = (await session.messages()).map(({ role }) => role)
    expect(roles).toEqual(Array.from({ length: answered }, () => ['user', 'assistant']).flat())
  })
})

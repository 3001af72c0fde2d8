import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  InMemoryStorageAdapter,
  createAnthropicAdapter,
  createClaude,
  createGPT,
  createOpenAICompatibleAdapter,
  createSession,
  type LLMAdapter,
  type LLMChunk,
  type Message,
} from '@stello-ai/session'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { served, USAGE } from './support/model-server.js'

interface Request {
  url: string | undefined
  headers: IncomingHttpHeaders
  body: Record<string, unknown>
}

/** Notes every request and answers in the protocol of its path. */
const requests: Request[] = []
const server = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
  request.on('end', () => {
    requests.push({ url: request.url, headers: request.headers, body: JSON.parse(body) })
    const anthropic = { content: [{ type: 'text', text: 'hi' }], stop_reason: 'end_turn' }
    const openai = { choices: [{ message: { content: 'hi' }, finish_reason: 'stop' }] }
    response.end(JSON.stringify(request.url?.includes('messages') === true ? anthropic : openai))
  })
})
let url: string
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => void server.close())

const question: Message[] = [{ role: 'user', content: 'hello' }]
async function requestOf(llm: LLMAdapter): Promise<Request> {
  expect(await llm.complete(question)).toEqual({ content: 'hi', finishReason: 'stop' })
  return requests.at(-1) as Request
}

describe('the adapter of', () => {
  it('createGPT sends model, key and conversation to the base URL', async () => {
    const { url: path, headers, body } = await requestOf(createGPT({ model: 'gpt-4o', apiKey: 'key-1', baseURL: `${url}/v1` }))
    expect(path).toBe('/v1/chat/completions')
    expect(headers.authorization).toBe('Bearer key-1')
    expect(body).toMatchObject({ model: 'gpt-4o', messages: question })
  })

  it('createClaude sends model, key and conversation to the base URL', async () => {
    const { url: path, headers, body } = await requestOf(createClaude({ model: 'claude-sonnet-4-20250514', apiKey: 'key-2', baseURL: url }))
    expect(path).toBe('/v1/messages')
    expect(headers['x-api-key']).toBe('key-2')
    expect(body).toMatchObject({ model: 'claude-sonnet-4-20250514', messages: [{ role: 'user' }] })
  })

  it('createOpenAICompatibleAdapter adds extraBody, and takes out of the request what is undefined there', async () => {
    const llm = createOpenAICompatibleAdapter({ baseURL: `${url}/v1/`, model: 'MiniMax-M1', apiKey: '', maxContextTokens: 9, extraBody: { reasoning_split: true, max_tokens: undefined } })
    const { headers, body } = await requestOf(llm)
    expect(headers.authorization).toBeUndefined()
    expect(body).toEqual({ model: 'MiniMax-M1', messages: question, reasoning_split: true, stream: false })
    expect(llm.maxContextTokens).toBe(9)
  })

  it('createAnthropicAdapter takes any model name, with its window', async () => {
    const llm = createAnthropicAdapter({ baseURL: url, model: 'claude-next', apiKey: 'k', maxContextTokens: 7 })
    expect((await requestOf(llm)).body).toMatchObject({ model: 'claude-next' })
    expect(llm.maxContextTokens).toBe(7)
  })
})

describe.each(['openai', 'anthropic'] as const)('a native adapter for %s', (protocol) => {
  const start = () => served(protocol, () => ({ pieces: ['a', 'b'], toolCalls: [{ id: 'c', name: 'f', input: { x: 1 } }] }), 5_000)
  const whole = { content: 'ab', toolCalls: [{ id: 'c', name: 'f', input: { x: 1 } }], usage: USAGE, finishReason: 'tool_calls' }

  it('is a plain object that works on its own', async () => {
    const { llm, stop } = await start()
    try {
      expect(Object.keys(llm).toSorted()).toEqual(['complete', 'maxContextTokens', 'stream'])
      expect(await llm.complete(question)).toEqual(whole)
      const chunks: LLMChunk[] = []
      for await (const chunk of llm.stream?.(question) ?? []) chunks.push(chunk)
      expect(chunks.map(({ delta }) => delta).join('')).toBe('ab')
      expect(chunks.flatMap(({ toolCallDeltas = [] }) => toolCallDeltas.map(({ input = '' }) => input)).join('')).toBe('{"x":1}')
      expect(chunks.at(-1)).toMatchObject({ usage: USAGE, finishReason: 'tool_calls' })
    } finally {
      await stop()
    }
  })

  it('may be spread, wrapped and replaced, and its wrapper is called', async () => {
    const { llm, stop } = await start()
    try {
      const complete = vi.fn(llm.complete)
      const session = await createSession({ storage: new InMemoryStorageAdapter(), llm: { ...llm } })
      expect(await session.send('hello')).toEqual(whole)
      session.setLLM({ ...llm, complete })
      expect(await session.send('hello')).toEqual({ ...whole, toolCalls: [{ ...whole.toolCalls[0], id: expect.any(String) }] })
      expect(complete).toHaveBeenCalledTimes(1)
    } finally {
      await stop()
    }
  })
})

import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import {
  InMemoryStorageAdapter,
  LLMError,
  NotImplementedError,
  SessionArchivedError,
  StorageError,
  ToolResultsError,
  createAnthropicAdapter,
  createClaude,
  createGPT,
  createOpenAICompatibleAdapter,
  createSession,
} from '@stello-ai/session'
import { describe, expect, it } from 'vitest'
import { errorFromFault } from '../src/js/errors.cjs'
import { recording } from './support/adapters.js'

describe('the error classes', () => {
  const cause = new Error('cause')
  it.each([
    [new SessionArchivedError('s1'), 'SessionArchivedError', 'session_archived', 'Session "s1" is archived and cannot be modified'],
    [new NotImplementedError('fly()'), 'NotImplementedError', 'not_implemented', 'fly() is not yet implemented'],
    [new LLMError('m', { provider: 'openai', code: 'timeout', cause }), 'LLMError', 'timeout', 'm'],
    [new ToolResultsError('m'), 'ToolResultsError', 'tool_results', 'm'],
    [new StorageError('m', { code: 'closed', cause }), 'StorageError', 'closed', 'm'],
  ])('%s is an Error with name, code and message', (error, name, code, message) => {
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ name, code, message })
    expect(String(error)).toBe(`${name}: ${message}`)
    expect(error.stack).toContain(`${name}: ${message}`)
    expect(Object.keys(error)).not.toContain('name')
  })

  it.each([
    new LLMError('m', { provider: 'openai', code: 'timeout', cause }),
    new ToolResultsError('m', { cause }),
    new StorageError('m', { code: 'closed', cause }),
  ])('%s keeps its cause', (error) => {
    expect(error.cause).toBe(cause)
  })

  it('tell in their stack which line waited, though they come from another thread', async () => {
    const storage = new InMemoryStorageAdapter()
    const llm = createOpenAICompatibleAdapter({ baseURL: 'http://127.0.0.1:1/v1', model: 'm', apiKey: '', maxContextTokens: 8000, maxRetries: 0 })
    const session = await createSession({ storage, llm })
    const sends = async () => {
      await session.send('q')
    }
    const completes = async () => {
      await llm.complete([{ role: 'user', content: 'q' }])
    }
    const answers = async () => {
      await session.send({ toolResults: [{ toolCallId: 'none', success: true, data: 1 }] })
    }
    await storage.transaction(async () => {})
    const stackOf = (call: () => Promise<void>) => call().then(() => '', (error: Error) => `${error.stack}`)
    expect(await stackOf(sends)).toMatch(/at (async )?sends /)
    expect(await stackOf(completes)).toMatch(/at (async )?completes /)
    expect(await stackOf(answers)).toMatch(/at (async )?answers /)
    await storage.close()
    const reads = async () => {
      await session.memory()
    }
    expect(await stackOf(reads)).toMatch(/at (async )?reads /)
  })

  it('of the model tells what it knows, and has no property for what it does not', () => {
    expect({ ...new LLMError('m', { provider: 'p', code: 'c' }) }).toEqual({ provider: 'p', code: 'c', retryable: false })
    const details = { provider: 'p', code: 'c', status: 429, type: 't', requestId: 'r', retryable: true, retryAfterMs: 5 }
    expect({ ...new LLMError('m', details) }).toEqual(details)
    expect('cause' in new LLMError('m', { provider: 'p', code: 'c' })).toBe(false)
  })

  it('come from sessions as themselves', async () => {
    const storage = new InMemoryStorageAdapter()
    const session = await createSession({ storage, llm: recording() })
    await expect(session.send({ toolResults: [{ toolCallId: 'x', success: true }] })).rejects.toBeInstanceOf(ToolResultsError)
    await session.archive()
    await expect(session.send('x')).rejects.toMatchObject({ name: 'SessionArchivedError', code: 'session_archived' })
    await storage.close()
    await expect(storage.getSession('x')).rejects.toMatchObject({ name: 'StorageError', code: 'closed' })
  })
})

const KEY = 'sk-secret-4711-abcdef'
const factories = [
  ['openai', (baseURL: string) => createOpenAICompatibleAdapter({ baseURL, model: 'm', apiKey: KEY, maxContextTokens: 1000, maxRetries: 0 })],
  ['anthropic', (baseURL: string) => createAnthropicAdapter({ baseURL, model: 'm', apiKey: KEY, maxContextTokens: 1000, maxRetries: 0 })],
] as const

describe.each(factories)('an error of the provider %s', (provider, make) => {
  it('carries what the server said, without the key, even where the server echoes it', async () => {
    const server = createServer((request, response) => {
      request.resume()
      response.writeHead(429, { 'content-type': 'application/json', 'x-request-id': 'req-1', 'request-id': 'req-1', 'retry-after-ms': '1500' })
      response.end(JSON.stringify({ error: { message: `too many requests of ${KEY}`, type: 'rate_limit_error', code: `code ${KEY}` } }))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const session = await createSession({ storage: new InMemoryStorageAdapter(), llm: make(`http://127.0.0.1:${(server.address() as AddressInfo).port}`) })
    try {
      for (const turn of [session.send('q'), session.stream('q').result]) {
        const error = (await turn.catch((reason: unknown) => reason)) as LLMError
        expect(error).toBeInstanceOf(LLMError)
        expect(error).toMatchObject({ provider, status: 429, type: 'rate_limit_error', requestId: 'req-1', retryable: true, retryAfterMs: 1500 })
        expect(error.message).toBe('429 too many requests of ***')
        expect(JSON.stringify({ ...error }) + error.stack + String(error.cause)).not.toContain(KEY)
      }
      expect(await session.messages()).toEqual([])
    } finally {
      server.close()
    }
  })

  it('has a cause where the connection failed', async () => {
    const session = await createSession({ storage: new InMemoryStorageAdapter(), llm: make('http://127.0.0.1:1') })
    const error = (await session.send('q').catch((reason: unknown) => reason)) as LLMError
    expect(error).toMatchObject({ name: 'LLMError', provider, code: 'connection', retryable: true })
    expect(error.cause).toBeInstanceOf(Error)
    expect('status' in error).toBe(false)
  })
})

it('of a bug in native code has a code too', () => {
  const error = errorFromFault({ kind: 'internal', message: 'internal error: no session' })
  expect(error).toMatchObject({ name: 'Error', code: 'internal', message: 'internal error: no session' })
})

describe('an adapter is refused at its creation', () => {
  it.each<[string, () => unknown, RegExp]>([
    ['without options', () => createGPT(undefined as never), /options must be an object/],
    ['with a model that is not known and no window', () => createGPT({ model: 'gpt-9' as never, apiKey: 'k' }), /gpt-9[^]*gpt-4o[^]*o4-mini/],
    ['with a Claude that is not known and no window', () => createClaude({ model: 'claude-9' as never, apiKey: 'k' }), /claude-9[^]*claude-opus-4-20250514/],
    ['without a base URL', () => createOpenAICompatibleAdapter({ model: 'm', apiKey: 'k', maxContextTokens: 1 } as never), /baseURL/],
    ['with a base URL that is none', () => createOpenAICompatibleAdapter({ model: 'm', apiKey: 'k', maxContextTokens: 1, baseURL: 'nowhere' }), /baseURL/],
    ['without a window', () => createAnthropicAdapter({ model: 'm', apiKey: 'k' } as never), /maxContextTokens/],
  ])('%s', (_name, create, message) => {
    expect(create).toThrow(TypeError)
    expect(create).toThrow(message)
  })

  it('without a key anywhere', () => {
    const { OPENAI_API_KEY, ANTHROPIC_API_KEY } = process.env
    delete process.env.OPENAI_API_KEY
    delete process.env.ANTHROPIC_API_KEY
    try {
      expect(() => createGPT({ model: 'gpt-4o' })).toThrow(/OPENAI_API_KEY/)
      expect(() => createClaude({ model: 'claude-opus-4-20250514' })).toThrow(/ANTHROPIC_API_KEY/)
      expect(createGPT({ model: 'gpt-4o', apiKey: '' }).maxContextTokens).toBe(128_000)
      process.env.OPENAI_API_KEY = 'from the environment'
      expect(createGPT({ model: 'gpt-4o' }).maxContextTokens).toBe(128_000)
    } finally {
      for (const [name, value] of Object.entries({ OPENAI_API_KEY, ANTHROPIC_API_KEY })) {
        if (value === undefined) delete process.env[name]
        else process.env[name] = value
      }
    }
  })
})

describe('an adapter is not given in silence', () => {
  it('what JSON would leave out', () => {
    const wrong: Array<[string, unknown]> = [
      ['timeoutMs', Infinity],
      ['maxRetries', NaN],
      ['temperature', -Infinity],
      ['baseURL', Symbol('url')],
      ['extraBody', () => ({})],
      ['maxOutputTokens', 10n],
      ['headers', new Headers({ 'x-a': '1' })],
      ['headers', new Map([['x-a', '1']])],
      ['model', new Date(0)],
    ]
    for (const [option, value] of wrong) {
      const create = () => createGPT({ model: 'gpt-4o', apiKey: 'k', [option]: value } as never)
      expect(create, option).toThrow(TypeError)
      expect(create, option).toThrow(`options.${option}`)
    }
  })
})

describe('the documented models have their windows', () => {
  it.each([
    ['gpt-4o', 128_000],
    ['gpt-4o-mini', 128_000],
    ['gpt-4.1', 1_047_576],
    ['gpt-4.1-mini', 1_047_576],
    ['gpt-4.1-nano', 1_047_576],
    ['o3', 200_000],
    ['o3-mini', 200_000],
    ['o4-mini', 200_000],
  ] as const)('%s: %i', (model, window) => {
    expect(createGPT({ model, apiKey: 'k' }).maxContextTokens).toBe(window)
    expect(createGPT({ model, apiKey: 'k', maxContextTokens: 5 }).maxContextTokens).toBe(5)
  })

  it.each(['claude-opus-4-20250514', 'claude-sonnet-4-20250514', 'claude-haiku-4-5-20251001'] as const)('%s', (model) => {
    expect(createClaude({ model, apiKey: 'k' }).maxContextTokens).toBe(200_000)
  })

  it('and others the one given', () => {
    expect(createGPT({ model: 'gpt-9', apiKey: 'k', maxContextTokens: 7 }).maxContextTokens).toBe(7)
    expect(createClaude({ model: 'claude-9', apiKey: 'k', maxContextTokens: 8 }).maxContextTokens).toBe(8)
    expect(createAnthropicAdapter({ model: 'x', apiKey: 'k', maxContextTokens: 9 }).maxContextTokens).toBe(9)
  })
})

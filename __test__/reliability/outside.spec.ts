// A world that is not as one would like: clocks that jump, signals, objects and Proxies of every make, other realms, a second copy of
// the package. Nothing hangs, nothing is half done, and what is refused is refused by name.
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runInContext, createContext } from 'node:vm'
import {
  InMemoryStorageAdapter,
  SqliteStorageAdapter,
  createGPT,
  createOpenAICompatibleAdapter,
  createSession,
  createSessionTool,
  forkSession,
  listSessionDigests,
  loadSession,
  tool,
  type MainStorage,
  type Message,
} from '@stello-ai/session'
import { storageConformance } from '@stello-ai/session/conformance'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { deferred, recording } from '../support/adapters.js'
import { MapStorage } from '../support/map-storage.js'
import { allStorages } from '../support/storages.js'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const revoked = (target: object = {}) => {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
}
const answering = () => recording((messages) => ({ content: `re: ${messages.at(-1)?.content}` }))
const texts = (messages: Message[]) => messages.map(({ content }) => content)

describe.each(allStorages)('clocks on $name', ({ make }) => {
  it('may have been anywhere: the order is that of the storing, and times are kept as they were', async () => {
    const storage = make()
    const session = await createSession({ storage, id: 's', llm: answering() })
    await storage.appendRecord('s', { role: 'user', content: 'from the future', timestamp: '2199-01-01T00:00:00.000Z' })
    await storage.appendRecord('s', { role: 'assistant', content: 'from the past', timestamp: '1969-12-31T23:59:59.999Z' })
    await storage.appendRecord('s', { role: 'user', content: 'from no time', timestamp: 'yesterday, I think' })
    await session.send('now')
    const records = await session.messages()
    expect(texts(records)).toEqual(['from the future', 'from the past', 'from no time', 'now', 're: now'])
    expect(records.slice(0, 3).map(({ timestamp }) => timestamp)).toEqual(['2199-01-01T00:00:00.000Z', '1969-12-31T23:59:59.999Z', 'yesterday, I think'])
    await session.trimRecords(3)
    expect(texts(await session.messages())).toEqual(['from no time', 'now', 're: now'])
  })

  it('may be faked: turns, transactions and times go on by the real one', async () => {
    vi.useFakeTimers({ now: 0 })
    const storage = make()
    const session = await createSession({ storage, id: 's', llm: answering() })
    await session.send('one')
    vi.setSystemTime(new Date('1900-01-01'))
    await session.stream('two').result
    await session.updateMeta({ label: 'L' })
    vi.spyOn(Date, 'now').mockReturnValue(Number.NaN)
    await storage.transaction(async (tx) => tx.putMemory('s', 'memory'))
    await session.send('three')
    vi.useRealTimers()
    expect(texts(await session.messages())).toEqual(['one', 're: one', 'two', 're: two', 'three', 're: three'])
    const { createdAt, updatedAt } = session.meta
    const times = [createdAt, ...(await session.messages()).map(({ timestamp = '' }) => timestamp)]
    expect(times).toEqual(times.toSorted())
    expect(times.every((time) => /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(time))).toBe(true)
    expect(updatedAt >= createdAt).toBe(true)
  })
})

interface Signal {
  aborted: boolean
  reason?: unknown
  addEventListener(name: string, listener: () => void): void
  removeEventListener?(name: string, listener: () => void): void
}

describe('a signal', () => {
  const never = () => ({ maxContextTokens: 1000, complete: () => new Promise<never>(() => {}) })

  it('of another realm stops a turn with its own reason', async () => {
    const context = createContext({})
    const signal = runInContext(
      `const listeners = new Set()
       const signal = { aborted: false, reason: undefined, addEventListener: (_, f) => listeners.add(f), removeEventListener: (_, f) => listeners.delete(f), get size() { return listeners.size } }
       signal.abort = () => { signal.aborted = true; signal.reason = new RangeError('of that realm'); for (const f of listeners) f() }
       signal`,
      context,
    ) as Signal & { abort(): void; size: number }
    const session = await createSession({ storage: new InMemoryStorageAdapter(), llm: never() })
    const turn = session.send('x', { signal: signal as never })
    signal.abort()
    const error = await turn.catch((reason: unknown) => reason)
    expect(error).toBe(signal.reason)
    expect(error).not.toBeInstanceOf(RangeError)
    expect([signal.size, await session.messages()]).toEqual([0, []])
  })

  const odd: Array<[string, () => Signal, unknown]> = [
    ['cannot be left', () => ({ aborted: false, addEventListener: () => {} }), 're: x'],
    ['throws when it is left', () => ({ aborted: false, addEventListener: () => {}, removeEventListener: () => { throw new Error('remove') } }), 're: x'],
    ['throws when it is listened to', () => ({ aborted: false, addEventListener: () => { throw new Error('add') } }), new Error('add')],
    ['throws when it is asked', () => ({ get aborted(): boolean { throw new Error('aborted') }, addEventListener: () => {} }), new Error('aborted')],
    ['aborts while it is listened to', () => ({ aborted: false, reason: new Error('early'), addEventListener(_name, listener) { this.aborted = true; listener() } }), new Error('early')],
    ['has a reason that throws', () => ({ aborted: true, get reason(): unknown { throw new Error('reason') }, addEventListener: () => {} }), new Error('reason')],
    ['has a reason that throws later', () => ({ aborted: false, get reason(): unknown { throw new Error('reason') }, addEventListener: (_name, listener) => setImmediate(listener) }), new Error('reason')],
    ['aborts without a reason', () => ({ aborted: false, addEventListener: (_name, listener) => setImmediate(listener) }), expect.objectContaining({ name: 'AbortError' })],
  ]
  it.each(odd)('that %s begins nothing or ends what it began, and holds up nobody', async (_, signalOf, expected) => {
    for (const storage of [new InMemoryStorageAdapter(), new MapStorage()]) {
      const llm = answering()
      const session = await createSession({ storage, llm, id: 's' })
      if (expected !== 're: x') session.setLLM(never())
      const settled = (promise: Promise<{ content: string | null }>) => promise.then(({ content }) => content, (error: unknown) => error)
      expect(await settled(session.send('x', { signal: signalOf() as never }))).toEqual(expected)
      const stream = async () => session.stream('x', { signal: signalOf() as never }).result
      expect(await settled(stream())).toEqual(expected)
      session.setLLM(llm)
      await session.send('next')
      expect(texts(await session.messages())).toEqual([...(expected === 're: x' ? ['x', 're: x', 'x', 're: x'] : []), 'next', 're: next'])
    }
  })
})

describe('objects of the application', () => {
  it('may be frozen all the way down', async () => {
    const deepFreeze = <T>(value: T): T => {
      if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze)
      return value
    }
    const llm = deepFreeze({ maxContextTokens: 1000, complete: async () => deepFreeze({ content: null, toolCalls: [{ id: 'c', name: 'n', input: { a: [1] } }] }) })
    const tools = deepFreeze([{ name: 'n', description: 'd', inputSchema: { type: 'object' } }])
    for (const { storage } of [{ storage: new InMemoryStorageAdapter() as MainStorage }, { storage: new MapStorage() }]) {
      const session = await createSession(Object.freeze({ storage, llm, tools, ...deepFreeze({ label: 'l', tags: ['a'], metadata: { a: { b: [1] } } }) }))
      await session.send('x', Object.freeze({}))
      await session.send(deepFreeze({ toolResults: [{ toolCallId: 'c', success: true, data: { a: 1 } }] }))
      await session.updateMeta(deepFreeze({ metadata: { c: 1 }, tags: [] }))
      const child = await session.fork(deepFreeze({ label: 'c', context: 'inherit' as const, metadata: {} }))
      expect(texts(await child.messages(Object.freeze({ limit: 3 })))).toEqual(['x', '', '{"a":1}'])
    }
  })

  it('may be Proxies, also of a session and of a storage', async () => {
    const seen: PropertyKey[] = []
    const watching = <T extends object>(target: T) => new Proxy(target, { get: (of, name, receiver) => (seen.push(name), Reflect.get(of, name, receiver)) })
    for (const storage of [new InMemoryStorageAdapter(), new MapStorage()] as MainStorage[]) {
      const session = watching(await createSession(watching({ storage: watching(storage), llm: watching(answering()), metadata: watching({ a: watching([1]) }), tags: watching(['t']) })))
      await session.send('x', watching({}))
      const child = await forkSession(session, watching({ label: 'c', context: 'inherit' as const }))
      expect([texts(await child.messages()), session.meta.metadata, session.meta.tags]).toEqual([['x', 're: x'], { a: [1] }, ['t']])
    }
    expect(seen).toContain('storage')
  })

  it('that are revoked Proxies are refused by name, before anything happens', async () => {
    const storage = new InMemoryStorageAdapter()
    const session = await createSession({ storage, id: 's', llm: answering() })
    const gone = revoked() as never
    const list = revoked([]) as never
    const llm = createOpenAICompatibleAdapter({ baseURL: 'http://127.0.0.1:9', model: 'm', apiKey: '', maxContextTokens: 10 })
    const cases: Array<[string, () => unknown]> = [
      ['options', () => createSession(gone)], ['options', () => loadSession('s', gone)], ['options.storage', () => createSession({ storage: gone })], ['options.llm', () => createSession({ storage, llm: gone })],
      ['options.tools', () => createSession({ storage, tools: list })], ['options.tools[0]', () => createSession({ storage, tools: [gone] })], ['options.tags', () => createSession({ storage, tags: list })],
      ['options.metadata', () => createSession({ storage, metadata: gone })], ['content', () => session.send(gone)], ['options', () => session.send('x', gone)], ['options.signal', () => session.send('x', { signal: gone })],
      ['content.toolResults', () => session.send({ toolResults: list })], ['content', () => session.stream(gone)], ['options', () => session.fork(gone)], ['parent', () => forkSession(gone, { label: 'x' })],
      ['adapter', () => session.setLLM(gone)], ['tools', () => session.setTools(list)], ['updates', () => session.updateMeta(gone)], ['options', () => session.messages(gone)], ['storage', () => listSessionDigests(gone)],
      ['filter', () => listSessionDigests(storage, gone)], ['session', () => storage.putSession(gone)], ['record', () => storage.appendRecord('s', gone)], ['node', () => storage.putNode(gone)], ['filter', () => storage.listSessions(gone)],
      ['messages', () => llm.complete(list)], ['messages[0]', () => llm.complete([gone])], ['options', () => createGPT(gone)], ['options.headers', () => createGPT({ model: 'gpt-4o', apiKey: '', headers: gone })],
      ['inputSchema', () => tool('a', 'b', gone, async () => ({ output: '' }))],
    ]
    for (const [name, call] of cases) {
      const error = await (async () => call())().catch((reason: unknown) => reason)
      expect(error, name).toBeInstanceOf(TypeError)
      expect((error as Error).message).toMatch(new RegExp(`^${name.replaceAll(/[[\].]/g, String.raw`\$&`)} must be .*, got a revoked Proxy$`))
    }
    expect([await session.messages(), await storage.listSessions()]).toEqual([[], [expect.objectContaining({ id: 's' })]])
  })

  it('whose getters throw are heard, as the same error, and nothing is made', async () => {
    const own = new Error('mine')
    for (const storage of [new InMemoryStorageAdapter(), new MapStorage()] as MainStorage[]) {
      for (const name of ['id', 'llm', 'label', 'tags', 'metadata', 'tools', 'systemPrompt', 'compressFn', 'consolidateFn', 'parentId']) {
        const options = Object.defineProperty({ storage }, name, { get: () => { throw own } })
        expect(await createSession(options).catch((error: unknown) => error), name).toBe(own)
      }
      expect(await createSession({ storage, metadata: { get a() { throw own } } }).catch((error: unknown) => error)).toBe(own)
      expect(await storage.listSessions()).toEqual([])
      let fails = false
      const llm = { complete: async () => ({ content: 'fine' }), get maxContextTokens() { if (fails) throw own; return 1000 } }
      const session = await createSession({ storage, llm })
      fails = true
      expect(await session.send('x').catch((error: unknown) => error)).toBe(own)
      expect(await session.stream('x').result.catch((error: unknown) => error)).toBe(own)
      const blocked = deferred()
      fails = false
      session.setLLM({ maxContextTokens: 1000, complete: async () => (await blocked.promise, { content: 'slow' }) })
      const first = session.send('first')
      const waiting = session.send('waits').catch((error: unknown) => error)
      session.setLLM(llm)
      fails = true
      blocked.resolve()
      await first
      expect(await waiting).toBe(own)
      fails = false
      await session.send('next')
      expect(texts(await session.messages())).toEqual(['first', 'slow', 'next', 'fine'])
    }
  })

  it('may be of a class of their own, with methods on a chain, private fields and symbol keys', async () => {
    class Counted extends MapStorage {
      #calls = 0
      override async listRecords(...args: Parameters<MapStorage['listRecords']>) {
        this.#calls += 1
        return super.listRecords(...args)
      }
      get calls() {
        return this.#calls
      }
    }
    class Deeper extends Counted {}
    class Native extends SqliteStorageAdapter {
      #calls = 0
      override async listRecords(...args: Parameters<SqliteStorageAdapter['listRecords']>) {
        this.#calls += 1
        return super.listRecords(...args)
      }
      get calls() {
        return this.#calls
      }
    }
    class Model {
      #answers = 0
      maxContextTokens = 1000
      async complete() {
        return { content: `answer ${(this.#answers += 1)}` }
      }
    }
    const secret = Symbol('secret')
    for (const storage of [new Deeper(), new Native({ path: ':memory:' })]) {
      const session = await createSession({ storage, id: 's', llm: new Model(), metadata: { kept: 1, [secret]: 2 } as Record<string, unknown>, [secret]: 3 } as never)
      await session.send('one')
      await session.send('two')
      expect([texts(await session.messages()), session.meta.metadata]).toEqual([['one', 'answer 1', 'two', 'answer 2'], { kept: 1 }])
      expect(storage.calls).toBeGreaterThanOrEqual(2)
    }
  })

  it('get nothing in return that structuredClone refuses', async () => {
    const storage = new InMemoryStorageAdapter()
    const session = await createSession({ storage, id: 's', metadata: { a: [1] }, llm: recording(() => ({ content: null, toolCalls: [{ id: 'c', name: 'n', input: { a: 1 } }], usage: { promptTokens: 1, completionTokens: 1 } })) })
    const result = await session.send('x')
    const handed = [result, session.meta, await session.messages(), await storage.listSessions(), await listSessionDigests(storage), (await storage.getSession('s')) ?? {}]
    expect(structuredClone(handed)).toEqual(handed)
    const error = await session.send({ toolResults: [{ toolCallId: 'no', success: true }] }).catch((reason: unknown) => reason)
    expect(structuredClone(error)).toMatchObject({ message: (error as Error).message })
  })
})

describe('a mistake in a call', () => {
  it('is named with its place, not with that of a parser', async () => {
    const storage = new InMemoryStorageAdapter()
    const session = await createSession({ storage, id: 's', llm: answering() })
    const { getSession, transaction, close } = storage
    const llm = createOpenAICompatibleAdapter({ baseURL: 'http://127.0.0.1:9', model: 'm', apiKey: '', maxContextTokens: 10 })
    const meta = { id: 'a', label: 'b', createdAt: '', updatedAt: '' }
    const bigint = { maxContextTokens: 9, complete: async () => ({ content: null, toolCalls: [{ id: 'c', name: 'n', input: { deep: [{ n: 1n }] } }] }) }
    const cases: Array<[() => unknown, string]> = [
      [() => llm.complete([null as never]), 'messages[0] must be a message, got null'],
      [() => llm.complete([{ role: 'user', content: 'x' }, { role: 'robot', content: 'x' } as never]), `messages[1].role must be 'system', 'user', 'assistant' or 'tool', got "robot" (string)`],
      [() => llm.complete([{ role: 'assistant', content: '', toolCalls: [{ id: 1 } as never] }]), 'messages[0].toolCalls[0].id must be a string, got 1 (number)'],
      [() => storage.putSession({ ...meta, label: 5 } as never), 'session.label must be a string, got 5 (number)'],
      [() => storage.putSession({ ...meta, status: 'gone' } as never), `session.status must be 'active' or 'archived', got "gone" (string)`],
      [() => storage.appendRecord('s', { role: 'user' } as never), 'record.content must be a string, got undefined'],
      [() => storage.putNode({ id: 'n' } as never), 'node.label must be a string, got undefined'],
      [() => storage.putCompressionCache('s', { summary: 's', compressedCount: -1, fingerprint: '' }), 'cache.compressedCount must be a non-negative integer, got -1 (number)'],
      [() => storage.listSessions({ status: 'gone' as never }), `filter.status must be 'active' or 'archived', got "gone" (string)`],
      [() => storage.putGlobal('g', () => {}), 'value must be a value that JSON can hold, got a function'],
      [() => session.fork({ label: 'c', context: () => [{ role: 'user' } as never] }), 'options.context must return messages; message 0: content must be a string, got undefined'],
      [() => session.fork({ label: 'c', context: () => null as never }), 'options.context must return an array of messages, got null'],
      [() => session.updateMeta({ metadata: { list: [{ at: 1n }] } }), 'updates.metadata cannot be written as JSON: list[0].at is 1 (bigint)'],
      [async () => (await createSession({ storage, llm: bigint })).send('x'), 'the result of the model cannot be written as JSON: toolCalls[0].input.deep[0].n is 1 (bigint)'],
      [() => createSessionTool(() => undefined as never).execute({ label: 'x' } as never), 'the result of getParent() must be a session, got undefined'],
      [() => tool('n', 'd', z.object({ a: z.string() }) as never, async () => ({ output: '' })), 'inputSchema must be a zod shape, such as { query: z.string() }, got a zod schema: give the shape of z.object(shape), or schema.shape'],
      [() => (getSession as (id: string) => unknown)('s'), 'getSession() must be called as a method of its storage: storage.getSession(…)'],
      [() => (transaction as unknown as (fn: unknown) => unknown)(async () => {}), 'transaction() must be called as a method of its storage: storage.transaction(…)'],
      [() => (close as () => unknown)(), 'close() must be called as a method of its storage: storage.close(…)'],
      [() => storageConformance(() => storage, null as never), 'options must be an object, got null'],
      [() => storageConformance(() => storage, { features: 'main' as never }), 'options.features must be an array, got main'],
      [() => storageConformance(() => storage, { dispose: 5 as never }), 'options.dispose must be a function, got 5'],
      [() => storageConformance(() => undefined as never)[0]?.run(), 'makeStorage must return a storage, got undefined'],
    ]
    for (const [call, message] of cases) expect(await (async () => call())().catch((error: unknown) => error)).toEqual(new TypeError(message))
    expect(await session.messages()).toEqual([])
  })

  it('leaves what an integrateFn returns besides to its caller, JSON or not', async () => {
    const { createMainSession } = await import('@stello-ai/session')
    const main = await createMainSession({ storage: new InMemoryStorageAdapter() })
    const extra: Record<string, unknown> = { count: 1n }
    extra.self = extra
    expect(await main.integrate(async () => ({ synthesis: 's', insights: [], extra }))).toEqual({ synthesis: 's', insights: [], extra })
    expect(await main.synthesis()).toBe('s')
  })
})

describe('two copies of the package on disk', () => {
  type Package = typeof import('@stello-ai/session')
  const folder = mkdtempSync(join(tmpdir(), 'stello-copy-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const root = fileURLToPath(new URL('../..', import.meta.url))
  for (const part of ['package.json', 'src/js']) cpSync(join(root, part), join(folder, part), { recursive: true })
  const load = createRequire(join(root, 'package.json'))
  const [one, two] = [load('@stello-ai/session') as Package, load(folder) as Package]

  it('work with one another\u2019s storages and models, each with its own errors', async () => {
    expect(one.Session).not.toBe(two.Session)
    for (const [own, other] of [[one, two], [two, one]] as const) {
      for (const storage of [new other.InMemoryStorageAdapter(), new other.SqliteStorageAdapter({ path: ':memory:' })]) {
        const session = await own.createSession({ storage, id: 's', llm: answering(), parentId: null })
        await session.send('one')
        await session.stream('two').result
        const loaded = await other.loadSession('s', { storage, llm: answering() })
        await loaded?.send('three')
        expect(texts(await session.messages())).toEqual(['one', 're: one', 'two', 're: two', 'three', 're: three'])
        await expect(storage.transaction(async () => { await session.send('lost'); throw new Error('mine') })).rejects.toThrow('mine')
        expect(await session.messages()).toHaveLength(6)
        const child = await own.forkSession(session, { label: 'c', context: 'inherit' })
        expect([child instanceof own.Session, child instanceof other.Session]).toEqual([true, false])
        const refused = await session.send({ toolResults: [{ toolCallId: 'no', success: true }] }).catch((error: unknown) => error)
        expect([refused instanceof own.ToolResultsError, refused instanceof other.ToolResultsError]).toEqual([true, false])
        await storage.close()
        const closed = await session.send('late').catch((error: unknown) => error)
        expect([closed instanceof other.StorageError, (closed as { code: string }).code]).toEqual([true, 'closed'])
        await expect(own.forkSession(loaded as never, { label: 'c' })).rejects.toThrow('parent must be a session of this package')
      }
    }
  })
})

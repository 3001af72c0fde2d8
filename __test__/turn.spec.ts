import { AsyncLocalStorage } from 'node:async_hooks'
import { SessionArchivedError, StorageError, createSession, loadSession, type Message, type MainStorage, type Session } from '@stello-ai/session'
import { describe, expect, it, vi } from 'vitest'
import { deferred, recording } from './support/adapters.js'
import { MapStorage } from './support/map-storage.js'
import { contents, storages } from './support/storages.js'

const text = (messages: Message[]) => messages.map((message) => message.content)

describe.each(storages)('a turn on $name', ({ make }) => {
  async function start(options: Partial<Parameters<typeof createSession>[0]> = {}) {
    const storage = make()
    const llm = recording()
    const session = await createSession({ storage, llm, label: 'test', systemPrompt: 'Be brief.', ...options })
    return { storage, llm, session, id: session.meta.id }
  }

  describe('is refused early', () => {
    it('on an archived session, and reads nothing', async () => {
      const { storage, session, llm } = await start()
      await session.archive()
      const read = vi.spyOn(storage, 'listRecords')
      await expect(session.send('hi')).rejects.toThrow(SessionArchivedError)
      expect(() => session.stream('hi')).toThrow(`Session "${session.meta.id}" is archived and cannot be modified`)
      expect(read).not.toHaveBeenCalled()
      expect(llm.prompts).toEqual([])
    })

    it('without an adapter', async () => {
      const session = await createSession({ storage: make() })
      await expect(session.send('hi')).rejects.toThrow(/^LLMAdapter is required for send\(\)$/)
      expect(() => session.stream('hi')).toThrow(/^LLMAdapter is required for stream\(\)$/)
    })

    it('with a signal that is aborted already, by its reason', async () => {
      const { session, llm, storage, id } = await start()
      const reason = { why: 'changed my mind' }
      const before = await contents(storage, id)
      await expect(session.send('hi', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
      const stream = session.stream('hi', { signal: AbortSignal.abort(reason) })
      await expect(stream.result).rejects.toBe(reason)
      const iterated = session.stream('hi', { signal: AbortSignal.abort(reason) })[Symbol.asyncIterator]()
      await expect(iterated.next()).rejects.toBe(reason)
      expect(llm.prompts).toEqual([])
      expect(await contents(storage, id)).toEqual(before)
    })

    it('with an argument of the wrong type, by its name and value', async () => {
      const { session } = await start()
      const send = session.send as (content: unknown, options?: unknown) => Promise<unknown>
      await expect(send(7)).rejects.toThrow(new TypeError('content must be a string or { toolResults }, got 7 (number)'))
      await expect(send('hi', { signal: 'no' })).rejects.toThrow(new TypeError('options.signal must be an AbortSignal, got "no" (string)'))
      await expect(send('hi', null)).rejects.toThrow(TypeError)
      expect(() => (session.stream as (content: unknown) => unknown)(undefined)).toThrow(TypeError)
    })
  })

  describe('waits for its place', () => {
    it('so that two at once keep their pairs together and each sees the other', async () => {
      const { session, llm } = await start()
      await Promise.all([session.send('one'), session.send('two')])
      const records = await session.messages()
      expect(text(records)).toEqual(['one', 'answer 3', 'two', 'answer 5'])
      expect(text(llm.prompts[1]).slice(2)).toEqual(['one', 'answer 3', 'two'])
    })

    it('in call order, whichever handle it came through', async () => {
      const { storage, session, llm, id } = await start()
      const other = (await loadSession(id, { storage, llm })) as Session
      const turns = [session.send('1'), other.send('2'), session.stream('3').result, other.send('4')]
      await Promise.all(turns)
      expect(text(await session.messages({ role: 'user' }))).toEqual(['1', '2', '3', '4'])
    })

    it('while other methods and other sessions do not', async () => {
      const { storage, session } = await start()
      const held = deferred<{ content: string }>()
      session.setLLM(recording(() => held.promise))
      const turn = session.send('slow')
      await session.setInsight('meanwhile')
      expect(await session.messages()).toEqual([])
      const other = await createSession({ storage, llm: recording() })
      await other.send('quick')
      held.resolve({ content: 'done' })
      await turn
      expect(await session.insight()).toBe('meanwhile')
    })

    it('and runs with adapter, tools and label of the moment its place comes', async () => {
      const { session } = await start()
      const held = deferred<{ content: string }>()
      session.setLLM(recording(() => held.promise))
      const first = session.send('first')
      const second = session.send('second')
      const later = recording()
      const tools = [{ name: 'f', description: 'd', inputSchema: { type: 'object' } }]
      session.setLLM(later)
      session.setTools(tools)
      await session.updateMeta({ label: 'renamed' })
      held.resolve({ content: 'done' })
      await Promise.all([first, second])
      expect(text(later.prompts[0]).some((content) => content.includes('renamed'))).toBe(true)
      expect(later.options[0]?.tools).toEqual(tools)
    })

    it('and is refused if the session was archived meanwhile', async () => {
      const { session } = await start()
      const held = deferred<{ content: string }>()
      session.setLLM(recording(() => held.promise))
      const first = session.send('first')
      const refusal = session.send('second').catch((error: unknown) => error)
      await session.archive()
      held.resolve({ content: 'done' })
      await first
      expect(await refusal).toBeInstanceOf(SessionArchivedError)
      expect(text(await session.messages())).toEqual(['first', 'done'])
    })

    it('which an aborted waiter leaves at once, without holding up the next', async () => {
      const { session } = await start()
      const held = deferred<{ content: string }>()
      const llm = recording(() => held.promise)
      session.setLLM(llm)
      const controller = new AbortController()
      const first = session.send('first')
      const aborted = session.send('never', { signal: controller.signal })
      const third = session.send('third')
      controller.abort('enough')
      await expect(aborted).rejects.toBe('enough')
      expect(llm.prompts.length).toBeLessThan(2)
      held.resolve({ content: 'done' })
      await Promise.all([first, third])
      expect(text(await session.messages({ role: 'user' }))).toEqual(['first', 'third'])
    })

    it('and does not hold up the next when it fails', async () => {
      const { session } = await start()
      let calls = 0
      session.setLLM(recording(() => (calls++ === 0 ? Promise.reject(new Error('first fails')) : { content: 'ok' })))
      const [first, second] = await Promise.allSettled([session.send('a'), session.send('b')])
      expect(first.status).toBe('rejected')
      expect(second.status).toBe('fulfilled')
      expect(text(await session.messages())).toEqual(['b', 'ok'])
    })

    it('and is rejected at once from inside one of its own callbacks, where it would wait for itself', async () => {
      const { session } = await start()
      let inner: Promise<unknown> | undefined
      session.setLLM(
        recording(async () => {
          await new Promise((resolve) => setTimeout(resolve, 1))
          inner = session.send('from inside')
          await expect(inner).rejects.toThrow(/cannot begin inside one of its own callbacks/)
          return { content: 'outer' }
        }),
      )
      await session.send('outer')
      expect(inner).toBeDefined()
      expect(text(await session.messages())).toEqual(['outer', 'outer'])
      await expect(session.send('after')).resolves.toMatchObject({ content: 'outer' })
    })

    it('but another session may be used from inside a callback', async () => {
      const { storage, session } = await start()
      const other = await createSession({ storage, llm: recording() })
      session.setLLM(recording(async () => ({ content: `other said ${(await other.send('q')).content}` })))
      await expect(session.send('hi')).resolves.toMatchObject({ content: 'other said answer 2' })
    })
  })

  it('calls the adapter once, with tools and the very signal of the caller', async () => {
    const { session, llm } = await start()
    const { signal } = new AbortController()
    await session.send('one', { signal })
    expect(llm.prompts).toHaveLength(1)
    expect(llm.options[0]).toEqual({ tools: undefined, signal })
    expect(llm.options[0]?.signal).toBe(signal)
    session.setTools([])
    await session.send('two')
    expect(llm.options[1]).toEqual({ tools: undefined, signal: undefined })
  })

  it('stores the user record that the prompt held, then the assistant record', async () => {
    const { session, llm } = await start()
    await session.send('hello')
    const [user, assistant] = await session.messages()
    expect(user).toEqual({ role: 'user', content: 'hello', timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) })
    expect(llm.prompts[0].at(-1)).toEqual(user)
    expect(Object.keys(assistant)).toEqual(['role', 'content', 'timestamp'])
  })

  it('stores tool calls and reasoning with the assistant record, and empty content for none', async () => {
    const { session } = await start()
    const toolCalls = [{ id: 'c1', name: 'f', input: { z: 1, a: [{ deep: true }] } }]
    session.setLLM(recording(() => ({ content: null, toolCalls, reasoningContent: 'because' })))
    expect(await session.send('go')).toEqual({ content: null, toolCalls, reasoningContent: 'because' })
    const [, assistant] = await session.messages()
    expect(assistant).toEqual({ role: 'assistant', content: '', toolCalls, reasoningContent: 'because', timestamp: expect.any(String) })
    session.setLLM(recording(() => ({ content: 'plain', toolCalls: [] })))
    await session.send('on')
    expect((await session.messages()).at(-1)).not.toHaveProperty('toolCalls')
  })

  it('makes call ids unique that are missing or repeat', async () => {
    const { session } = await start()
    const call = (id: unknown) => ({ id, name: 'f', input: {} }) as { id: string; name: string; input: Record<string, unknown> }
    session.setLLM(recording(() => ({ content: '', toolCalls: [call('same'), call('same'), call(undefined), call('')] })))
    const { toolCalls } = await session.send('go')
    const ids = toolCalls?.map(({ id }) => id) ?? []
    expect(ids[0]).toBe('same')
    expect(new Set(ids).size).toBe(4)
    expect(ids.every((id) => typeof id === 'string' && id !== '')).toBe(true)
    expect((await session.messages()).at(-1)?.toolCalls).toEqual(toolCalls)
  })

  it('clears the insight that it showed, once it is stored', async () => {
    const { session, llm } = await start()
    await session.setInsight('look left')
    await session.send('one')
    expect(text(llm.prompts[0])).toContain('look left')
    expect(await session.insight()).toBeNull()
    await session.send('two')
    expect(text(llm.prompts[1])).not.toContain('look left')
  })

  it('leaves an insight that was written while the model was answering', async () => {
    const { session } = await start()
    await session.setInsight('old')
    session.setLLM(
      recording(async () => {
        await session.setInsight('new')
        return { content: 'ok' }
      }),
    )
    await session.send('hi')
    expect(await session.insight()).toBe('new')
  })

  describe('leaves the storage as it was, the insight in place,', () => {
    it('when the adapter fails, and hands on its error as the same object', async () => {
      const { storage, session, id } = await start()
      await session.send('before')
      await session.setInsight('keep me')
      const before = await contents(storage, id)
      for (const error of [new Error('no'), 'a string', 0, undefined, null, { odd: true }]) {
        session.setLLM(recording(() => Promise.reject(error)))
        await expect(session.send('hi')).rejects.toBe(error)
        session.setLLM({
          maxContextTokens: 1000,
          complete() {
            throw error
          },
        })
        await expect(session.send('hi')).rejects.toBe(error)
      }
      expect(await contents(storage, id)).toEqual(before)
    })

    it('when it is aborted while the adapter answers, whose late outcome is swallowed', async () => {
      const { storage, session, id } = await start()
      await session.setInsight('keep me')
      const before = await contents(storage, id)
      for (const outcome of ['resolve', 'reject'] as const) {
        const called = deferred()
        const held = deferred<{ content: string }>()
        session.setLLM(recording(() => (called.resolve(), held.promise)))
        const controller = new AbortController()
        const turn = session.send('hi', { signal: controller.signal })
        await called.promise
        controller.abort()
        await expect(turn).rejects.toMatchObject({ name: 'AbortError' })
        if (outcome === 'resolve') held.resolve({ content: 'too late' })
        else held.reject(new Error('too late'))
        await new Promise((resolve) => setImmediate(resolve))
      }
      expect(await contents(storage, id)).toEqual(before)
      session.setLLM(recording())
      await expect(session.send('works')).resolves.toMatchObject({ content: 'answer 4' })
    })

    it('when the adapter answers the wrong shape', async () => {
      const { storage, session, id } = await start()
      const before = await contents(storage, id)
      for (const answer of [undefined, null, 'text', 7, { content: 7 }, { content: '', toolCalls: 'x' }, { content: '', toolCalls: [{ id: 'a' }] }, { content: '', toolCalls: [{ id: 'a', name: 'f', input: '{"x":1}' }] }]) {
        session.setLLM(recording(() => answer as never))
        await expect(session.send('hi')).rejects.toThrow(TypeError)
      }
      expect(await contents(storage, id)).toEqual(before)
    })

    it('when the commit fails, whichever write it is', async () => {
      const { storage, session, id } = await start()
      await session.send('before')
      await session.setInsight('keep me')
      const before = await contents(storage, id)
      const error = new Error('disk full')
      for (const [method, failing] of [
        ['appendRecord', 1],
        ['appendRecord', 2],
        ['getInsight', 2],
        ['clearInsight', 1],
      ] as const) {
        let calls = 0
        const original = storage[method].bind(storage) as (...args: unknown[]) => Promise<never>
        const spy = vi.spyOn(storage, method).mockImplementation(async (...args: unknown[]) => {
          calls += 1
          if (calls === failing) throw error
          return original(...args)
        })
        await expect(session.send('hi')).rejects.toBe(error)
        spy.mockRestore()
        expect(await contents(storage, id), method).toEqual(before)
      }
      await session.send('works')
      expect(await session.messages()).toHaveLength(4)
    })
  })

  it('hands out nothing that aliases what is stored', async () => {
    const { session } = await start({ metadata: { nested: { n: 1 } }, tags: ['a'] })
    const input = { list: [1], object: { n: 1 } }
    const inputOf = ({ toolCalls }: Pick<Message, 'toolCalls'>) => toolCalls?.[0].input as typeof input
    const given = { content: 'c', toolCalls: [{ id: 'x', name: 'f', input }] }
    session.setLLM(recording(() => given))
    const result = await session.send('go')
    input.list.push(2)
    inputOf(result).object.n = 99
    const read = await session.messages()
    inputOf(read[1]).list.push(3)
    read[1].content = 'changed'
    read.pop()
    session.setLLM({
      maxContextTokens: 1000,
      async complete(messages) {
        for (const message of messages) {
          message.content = 'changed'
          if (message.toolCalls) inputOf(message).object.n = 98
        }
        messages.length = 0
        return { content: 'ok' }
      },
    })
    await session.send(JSON.stringify({ toolResults: [{ toolCallId: 'x', toolName: 'f', args: {}, success: true, data: 'r', error: null }] }))
    const records = await session.messages()
    expect(text(records)).toEqual(['go', 'c', 'r', 'ok'])
    expect(records[1].toolCalls).toEqual([{ id: 'x', name: 'f', input: { list: [1], object: { n: 1 } } }])
    expect(() => (session.meta.tags as string[]).push('b')).toThrow(TypeError)
    expect(() => ((session.meta.metadata.nested as { n: number }).n = 2)).toThrow(TypeError)
  })

  it('shows the records as they are, whatever was trimmed, added, edited or aborted in between', async () => {
    const { storage, session, id } = await start({ label: '', systemPrompt: '' })
    const llm = recording()
    const expectShown = async (ask: string) => {
      const before = await storage.listRecords(id)
      session.setLLM(llm)
      await session.send(ask)
      expect(llm.prompts.at(-1)?.slice(0, -1)).toEqual(before)
    }
    for (let round = 0; round < 40; round++) {
      const [kind] = [['abort', 'trim', 'add', 'plain', 'two'][(round * 7) % 5]]
      if (kind === 'trim') await storage.trimRecords(id, 1 + (round % 6))
      if (kind === 'add') await storage.appendRecord(id, { role: 'user', content: `outside ${round}` })
      if (kind === 'abort') {
        const controller = new AbortController()
        session.setLLM(recording(() => (controller.abort(), new Promise(() => {}))))
        await expect(session.send('never stored', { signal: controller.signal })).rejects.toMatchObject({ name: 'AbortError' })
      }
      if (kind === 'two') await Promise.all([session.send('a'), session.send('b')])
      await expectShown(`round ${round}`)
    }
  })

  it('calls everything in the async context of its caller', async () => {
    const { storage, session } = await start({ compressFn: async () => 'summary' })
    const context = new AsyncLocalStorage<string>()
    const seen = new Set<string | undefined>()
    const note = () => seen.add(context.getStore())
    session.setLLM(recording(async () => (note(), await Promise.resolve(), note(), { content: 'ok' })))
    for (const method of ['listRecords', 'appendRecord', 'transaction'] as const) {
      const original = storage[method].bind(storage) as (...args: unknown[]) => Promise<never>
      vi.spyOn(storage, method).mockImplementation((...args: unknown[]) => (note(), original(...args)))
    }
    await context.run('mine', () => session.send('hi'))
    expect([...seen]).toEqual(['mine'])
  })

  it('sees methods of the storage that were replaced after the session was made', async () => {
    const { storage, session } = await start()
    await session.send('before')
    const listRecords = vi.spyOn(storage, 'listRecords')
    const appendRecord = vi.spyOn(storage, 'appendRecord')
    const transaction = vi.spyOn(storage, 'transaction')
    await session.send('hi')
    expect(listRecords).toHaveBeenCalledTimes(1)
    expect(transaction).toHaveBeenCalledTimes(1)
    expect(appendRecord.mock.calls.map(([id, record]) => [id, record.role])).toEqual([
      [session.meta.id, 'user'],
      [session.meta.id, 'assistant'],
    ])
    vi.restoreAllMocks()
    await session.send('after')
    expect(text(await session.messages({ role: 'user' }))).toEqual(['before', 'hi', 'after'])
  })
})

describe('a turn on a storage written in JavaScript', () => {
  async function on(storage: object, llm = recording()) {
    const session = await createSession({ storage: storage as MainStorage, llm, label: 'x', systemPrompt: 's' })
    return { session, llm, id: session.meta.id }
  }

  it('reads system prompt, insight and history together', async () => {
    const storage = new MapStorage()
    const { session } = await on(storage)
    const started: string[] = []
    const gate = deferred()
    for (const method of ['getSystemPrompt', 'getInsight', 'listRecords'] as const) {
      const original = storage[method].bind(storage) as (id: string) => Promise<never>
      storage[method] = (async (id: string) => {
        started.push(method)
        if (started.length === 3) gate.resolve()
        await gate.promise
        return original(id)
      }) as never
    }
    await session.send('hi')
    expect(started.slice(0, 3).toSorted()).toEqual(['getInsight', 'getSystemPrompt', 'listRecords'])
  })

  it('commits in one transaction, through the object that it is given, in order', async () => {
    const storage = new MapStorage()
    const { session, id } = await on(storage)
    await session.setInsight('note')
    const calls: unknown[] = []
    let transactions = 0
    storage.transaction = async (fn) => {
      transactions += 1
      const tx = Object.create(storage) as MapStorage
      for (const method of ['appendRecord', 'getInsight', 'clearInsight'] as const) {
        const original = storage[method].bind(storage) as (...args: unknown[]) => Promise<never>
        tx[method] = ((...args: unknown[]) => {
          calls.push([method, (args[1] as Message | undefined)?.role])
          return original(...args)
        }) as never
      }
      return fn(tx)
    }
    await session.send('hi')
    expect(transactions).toBe(1)
    expect(calls).toEqual([['appendRecord', 'user'], ['appendRecord', 'assistant'], ['getInsight', undefined], ['clearInsight', undefined]])
    expect(storage.insights.has(id)).toBe(false)
  })

  it('calls a storage without transaction directly', async () => {
    const storage = Object.assign(new MapStorage(), { transaction: undefined })
    const { session } = await on(storage)
    await session.send('hi')
    expect(text(await session.messages())).toEqual(['hi', 'answer 3'])
  })

  it('runs again where a transaction runs its function again', async () => {
    const storage = new MapStorage()
    const { session } = await on(storage)
    const once = storage.transaction.bind(storage)
    storage.transaction = async (fn) => {
      await once(async (tx) => {
        await fn(tx)
        throw new Error('conflict')
      }).catch(() => {})
      return once(fn)
    }
    await session.send('hi')
    expect(text(await session.messages())).toEqual(['hi', 'answer 3'])
  })

  it('fails by name where a transaction never runs its function', async () => {
    const storage = new MapStorage()
    const { session } = await on(storage)
    storage.transaction = async () => undefined as never
    await expect(session.send('hi')).rejects.toMatchObject({ name: 'StorageError', code: 'transaction' })
  })

  it('ignores an abort once it is being stored', async () => {
    const storage = new MapStorage()
    const { session } = await on(storage)
    const controller = new AbortController()
    const append = storage.appendRecord.bind(storage)
    storage.appendRecord = async (id, record) => {
      controller.abort()
      await new Promise((resolve) => setTimeout(resolve, 5))
      return append(id, record)
    }
    await expect(session.send('hi', { signal: controller.signal })).resolves.toMatchObject({ content: 'answer 3' })
    expect(await session.messages()).toHaveLength(2)
  })

  it('keeps message fields that it does not know, and shows them to the adapter', async () => {
    const storage = new MapStorage()
    const { session, llm, id } = await on(storage)
    const when = new Date(0)
    storage.records.set(id, [{ role: 'user', content: 'old', custom: { when }, tag: undefined } as Message])
    await session.send('hi')
    const shown = llm.prompts[0].find((message) => message.content === 'old') as unknown as { custom: { when: Date } }
    expect(shown.custom.when).toEqual(when)
    const [stored] = storage.records.get(id) as unknown as [{ custom: { when: Date } }]
    expect(stored.custom.when).toBe(when)
  })

  it('counts undefined as null and takes synchronous methods', async () => {
    const sync: Record<string, unknown> = {}
    const records: Message[] = []
    Object.assign(sync, {
      getSession: () => undefined,
      putSession: () => {},
      getSystemPrompt: () => undefined,
      putSystemPrompt: () => {},
      getInsight: () => undefined,
      listRecords: () => records,
      appendRecord: (_id: string, record: Message) => void records.push(record),
    })
    const { session, llm } = await on(sync)
    await session.send('hi')
    expect(records).toHaveLength(2)
    expect(text(llm.prompts[0])).toEqual([expect.stringContaining('<session_identity>'), 'hi'])
  })

  it('hands on what the storage throws or rejects with, as the same object', async () => {
    for (const method of ['getSystemPrompt', 'getInsight', 'listRecords', 'transaction', 'appendRecord'] as const) {
      for (const error of [new RangeError('mine'), 'text', 42, undefined, Symbol('odd')]) {
        for (const how of ['throw', 'reject'] as const) {
          const storage = new MapStorage()
          const { session, llm } = await on(storage)
          storage[method] = (() => {
            if (how === 'throw') throw error
            return Promise.reject(error)
          }) as never
          await expect(session.send('hi')).rejects.toBe(error)
          expect(llm.prompts.length).toBe(method === 'transaction' || method === 'appendRecord' ? 1 : 0)
        }
      }
    }
  })

  it('takes a storage whose every property is a method, as stand-ins for something elsewhere are', async () => {
    const elsewhere = new MapStorage()
    const storage = new Proxy({} as Record<PropertyKey, unknown>, {
      get: (_, name) => async (...args: unknown[]) => (elsewhere as unknown as Record<PropertyKey, (...args: unknown[]) => unknown>)[name]?.(...args),
    })
    const { session } = await on(storage)
    await session.send('hi')
    expect(text(await session.messages())).toEqual(['hi', 'answer 3'])
  })

  it('names method and field where the storage answers the wrong shape', async () => {
    const wrong: Array<[keyof MapStorage, unknown, RegExp]> = [
      ['getSystemPrompt', 7, /storage\.getSystemPrompt\(\).*string or null, got 7/],
      ['getInsight', {}, /storage\.getInsight\(\).*string or null, got an object/],
      ['listRecords', null, /storage\.listRecords\(\).*an array, got null/],
      ['listRecords', [null], /storage\.listRecords\(\).*record 0: role/],
      ['listRecords', [{ role: 'bot', content: '' }], /record 0: role must be .* got "bot"/],
      ['listRecords', [{ role: 'user', content: 'ok' }, { role: 'user', content: null }], /record 1: content must be a string, got null/],
      ['listRecords', [{ role: 'tool', content: '', toolCallId: 5 }], /record 0: toolCallId must be a string, got 5/],
      ['listRecords', [{ role: 'assistant', content: '', toolCalls: [{ name: 'f' }] }], /record 0: toolCalls\[0\]\.id must be a string, got undefined/],
      ['listRecords', [{ role: 'assistant', content: '', toolCalls: 'x' }], /record 0: toolCalls must be an array/],
    ]
    for (const [method, answer, message] of wrong) {
      const storage = new MapStorage()
      const { session, llm } = await on(storage)
      storage[method] = (async () => answer) as never
      const failure = session.send('hi')
      await expect(failure).rejects.toThrow(message)
      await expect(failure).rejects.toThrow(StorageError)
      await expect(failure).rejects.toMatchObject({ code: 'invalid_shape' })
      expect(llm.prompts).toEqual([])
    }
  })

  it('names a method that the storage lacks', async () => {
    const storage = new MapStorage()
    const { session } = await on(storage)
    Object.assign(storage, { listRecords: undefined })
    await expect(session.send('hi')).rejects.toThrow(new TypeError('storage.listRecords must be a function, got undefined'))
  })

  it('can be aborted while a read never settles', async () => {
    const storage = new MapStorage()
    const { session, llm } = await on(storage)
    const read = storage.listRecords.bind(storage)
    storage.listRecords = () => new Promise(() => {})
    const controller = new AbortController()
    const turn = session.send('hi', { signal: controller.signal })
    setTimeout(() => controller.abort(), 5)
    await expect(turn).rejects.toMatchObject({ name: 'AbortError' })
    storage.listRecords = read
    await session.send('again')
    expect(llm.prompts).toHaveLength(1)
    expect(text(await session.messages())).toEqual(['again', 'answer 3'])
  })
})

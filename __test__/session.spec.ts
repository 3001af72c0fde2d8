import {
  MainSession,
  Session,
  SessionArchivedError,
  StorageError,
  createMainSession,
  createSession,
  listSessionDigests,
  loadMainSession,
  loadSession,
  type CreateSessionOptions,
  type Message,
  type SessionMeta,
} from '@stello-ai/session'
import { describe, expect, it, vi } from 'vitest'
import { recording } from './support/adapters.js'
import { MapStorage } from './support/map-storage.js'
import { contents, storages } from './support/storages.js'

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/
const text = (messages: Message[]) => messages.map(({ content }) => content)
const tool = { name: 'f', description: 'd', inputSchema: { type: 'object' } }

describe.each(storages)('a session on $name', ({ make }) => {
  async function start(options: Partial<CreateSessionOptions> = {}) {
    const storage = make()
    const llm = recording()
    const session = await createSession({ storage, llm, ...options })
    return { storage, llm, session, id: session.meta.id }
  }

  describe('is created', () => {
    it('with an id of its own, the default label, and nothing else', async () => {
      const { storage, session, id } = await start()
      expect(id).toMatch(UUID)
      expect(session.meta).toEqual({
        id,
        label: 'New Session',
        role: 'standard',
        status: 'active',
        tags: [],
        metadata: {},
        createdAt: expect.stringMatching(ISO),
        updatedAt: session.meta.createdAt,
      })
      expect(await contents(storage, id)).toEqual({ meta: session.meta, records: [], systemPrompt: null, insight: null, memory: null, sessions: 1 })
      expect(session.tools).toBeUndefined()
    })

    it('with what is given, and stores it', async () => {
      const { storage, session } = await start({ id: 'mine', label: 'L', systemPrompt: 'P', tags: ['a', 'b'], metadata: { n: { deep: [1, null] } }, tools: [tool] })
      expect(session.meta).toMatchObject({ id: 'mine', label: 'L', tags: ['a', 'b'], metadata: { n: { deep: [1, null] } } })
      expect(await storage.getSession('mine')).toEqual(session.meta)
      expect(await session.systemPrompt()).toBe('P')
      expect(session.tools).toEqual([tool])
    })

    it('with undefined as not given, in every option', async () => {
      const none = { id: undefined, parentId: undefined, llm: undefined, label: undefined, systemPrompt: undefined, tags: undefined, metadata: undefined, tools: undefined, compressFn: undefined, consolidateFn: undefined }
      const { storage, session, id } = await start(none)
      expect(session.meta).toMatchObject({ label: 'New Session', tags: [], metadata: {} })
      expect(await storage.getChildren(null as never)).toEqual([])
      expect(await loadSession(id, { storage, llm: undefined, systemPrompt: undefined, tools: undefined, compressFn: undefined, consolidateFn: undefined })).not.toBeNull()
    })

    it("without storing a system prompt of ''", async () => {
      const { storage, session, id } = await start({ systemPrompt: '' })
      expect(await session.systemPrompt()).toBeNull()
      expect(await storage.getSystemPrompt(id)).toBeNull()
    })

    it('over an id that exists, whose meta is written anew and whose records stay', async () => {
      const { storage, session, llm, id } = await start({ label: 'old', tags: ['t'], systemPrompt: 'P' })
      await session.send('hi')
      await session.archive()
      const again = await createSession({ storage, llm, id, label: 'new' })
      expect(again.meta).toMatchObject({ id, label: 'new', tags: [], status: 'active' })
      expect(session.meta).toEqual(again.meta)
      expect(text(await again.messages())).toEqual(['hi', 'answer 3'])
      await session.send('on')
      expect(await again.messages()).toHaveLength(4)
    })
  })

  describe('is loaded', () => {
    it('with its history, by another handle', async () => {
      const { storage, session, llm, id } = await start({ label: 'L', systemPrompt: 'P', metadata: { a: 1 } })
      await session.send('hi')
      const loaded = (await loadSession(id, { storage, llm })) as Session
      expect(loaded).toBeInstanceOf(Session)
      expect(loaded.meta).toEqual(session.meta)
      expect(await loaded.messages()).toEqual(await session.messages())
      await loaded.send('more')
      expect(text(llm.prompts[1]).slice(2)).toEqual(['hi', 'answer 3', 'more'])
    })

    it('as null where there is none', async () => {
      const storage = make()
      expect(await loadSession('nobody', { storage })).toBeNull()
      expect(await loadMainSession('nobody', { storage })).toBeNull()
    })

    it('with a system prompt that is stored only where none is', async () => {
      const { storage, session, id } = await start()
      await loadSession(id, { storage, systemPrompt: 'first' })
      expect(await session.systemPrompt()).toBe('first')
      await loadSession(id, { storage, systemPrompt: 'second' })
      expect(await session.systemPrompt()).toBe('first')
    })

    it('without storing a system prompt when it is archived', async () => {
      const { storage, session, id } = await start()
      await session.archive()
      await loadSession(id, { storage, systemPrompt: 'late' })
      expect(await session.systemPrompt()).toBeNull()
    })

    it('as a standard session over the id of a main session, and the other way not at all', async () => {
      const { storage, id } = await start()
      const main = await createMainSession({ storage })
      const over = (await loadSession(main.meta.id, { storage })) as Session
      expect(over).toBeInstanceOf(Session)
      expect(over).not.toBeInstanceOf(MainSession)
      expect(over.meta).toEqual(main.meta)
      expect(await loadMainSession(id, { storage })).toBeNull()
    })
  })

  it('is an instance of Session, whose constructor is not for others', async () => {
    const { session } = await start()
    expect(session).toBeInstanceOf(Session)
    expect(session).not.toBeInstanceOf(MainSession)
    expect(() => new (Session as unknown as new () => Session)()).toThrow(TypeError)
    expect(() => new (MainSession as unknown as new () => Session)()).toThrow(TypeError)
    expect(Object.getPrototypeOf(Session.prototype)).toBe(Object.prototype)
    expect(Object.getPrototypeOf(MainSession.prototype)).toBe(Object.prototype)
  })

  it('has the documented members', async () => {
    const { session } = await start()
    const members = ['meta', 'send', 'stream', 'messages', 'systemPrompt', 'setSystemPrompt', 'insight', 'setInsight', 'memory', 'consolidate', 'trimRecords', 'fork', 'updateMeta', 'archive', 'setLLM', 'tools', 'setTools']
    expect(Object.keys(session).toSorted()).toEqual(members.toSorted())
  })

  it('works detached and in a spread copy', async () => {
    const { session, storage } = await start({ label: 'L' })
    const { send, stream, messages, setInsight, insight, updateMeta, trimRecords } = session
    await setInsight('note')
    expect(await insight()).toBe('note')
    await send('one')
    await stream('two').result
    const copy = { ...session }
    await copy.send('three')
    expect(text(await messages({ role: 'user' }))).toEqual(['one', 'two', 'three'])
    await trimRecords(1)
    await updateMeta({ label: 'M' })
    expect(await copy.messages()).toHaveLength(1)
    expect((await storage.getSession(session.meta.id))?.label).toBe('M')
    expect((await copy.fork({ label: 'child', context: 'inherit' })).meta.label).toBe('child')
  })

  describe('has metadata', () => {
    it('that is a frozen snapshot, always current', async () => {
      const { session } = await start({ tags: ['a'], metadata: { deep: { n: 1 } } })
      const before = session.meta
      expect(session.meta).toBe(before)
      expect(() => ((before as SessionMeta).label = 'x')).toThrow(TypeError)
      expect(() => before.tags.push('b')).toThrow(TypeError)
      expect(() => ((before.metadata.deep as { n: number }).n = 2)).toThrow(TypeError)
      await session.updateMeta({ label: 'later' })
      expect(before.label).toBe('New Session')
      expect(session.meta.label).toBe('later')
    })

    it('whose given fields are replaced, not merged, and the others stay', async () => {
      const { storage, session, id } = await start({ label: 'L', tags: ['a'], metadata: { a: 1, b: 2 } })
      const { createdAt } = session.meta
      await session.updateMeta({ metadata: { c: 3 } })
      expect(session.meta).toMatchObject({ label: 'L', tags: ['a'], createdAt })
      expect(session.meta.metadata).toEqual({ c: 3 })
      await session.updateMeta({ label: 'M', tags: undefined })
      expect(session.meta).toMatchObject({ label: 'M', tags: ['a'] })
      await session.updateMeta({ tags: [] })
      expect(session.meta.tags).toEqual([])
      expect(session.meta.updatedAt >= createdAt).toBe(true)
      expect(await storage.getSession(id)).toEqual(session.meta)
    })

    it('of which two changes at once both count', async () => {
      const { storage, session, id } = await start()
      const other = (await loadSession(id, { storage })) as Session
      await Promise.all([session.updateMeta({ label: 'L' }), other.updateMeta({ tags: ['t'] }), session.updateMeta({ metadata: { m: 1 } })])
      expect(session.meta).toMatchObject({ label: 'L', tags: ['t'], metadata: { m: 1 } })
      expect(await storage.getSession(id)).toEqual(session.meta)
      expect(other.meta).toEqual(session.meta)
    })

    it('that keeps nothing of the objects that were given', async () => {
      const tags = ['a']
      const metadata = { list: [1] }
      const { storage, session, id } = await start({ tags, metadata })
      tags.push('b')
      metadata.list.push(2)
      expect(session.meta).toMatchObject({ tags: ['a'], metadata: { list: [1] } })
      expect(await storage.getSession(id)).toMatchObject({ tags: ['a'], metadata: { list: [1] } })
    })
  })

  it('reads its messages by role, then offset, then limit, from the oldest', async () => {
    const { session } = await start()
    for (const question of ['1', '2', '3']) await session.send(question)
    expect(await session.messages()).toHaveLength(6)
    expect(text(await session.messages({ role: 'user' }))).toEqual(['1', '2', '3'])
    expect(text(await session.messages({ role: 'user', offset: 1 }))).toEqual(['2', '3'])
    expect(text(await session.messages({ role: 'user', offset: 1, limit: 1 }))).toEqual(['2'])
    expect(text(await session.messages({ limit: 1 }))).toEqual(['1'])
    expect(await session.messages({ offset: 5 })).toHaveLength(1)
    expect(await session.messages({ offset: 6 })).toEqual([])
    expect(await session.messages({ limit: 0 })).toEqual([])
    expect(await session.messages({ role: 'tool' })).toEqual([])
    expect(await session.messages({ role: undefined, offset: undefined, limit: undefined })).toHaveLength(6)
  })

  it('reads and writes its system prompt, for all handles and every later turn', async () => {
    const { storage, session, llm, id } = await start({ systemPrompt: 'one', label: '' })
    await session.setSystemPrompt('two')
    expect(await session.systemPrompt()).toBe('two')
    expect(await storage.getSystemPrompt(id)).toBe('two')
    await session.send('a')
    await session.send('b')
    expect(llm.prompts.map(([first]) => first)).toEqual([{ role: 'system', content: 'two' }, { role: 'system', content: 'two' }])
  })

  it('keeps one insight, the last, until a turn has shown it', async () => {
    const { storage, session, llm, id } = await start({ label: '' })
    expect(await session.insight()).toBeNull()
    await session.setInsight('one')
    await session.setInsight('two')
    await storage.putInsight(id, 'three')
    expect(await session.insight()).toBe('three')
    await session.send('a')
    await session.send('b')
    expect(llm.prompts[0]).toEqual([{ role: 'system', content: 'three' }, expect.objectContaining({ content: 'a' })])
    expect(text(llm.prompts[1])).toEqual(['a', 'answer 2', 'b'])
    expect(await session.insight()).toBeNull()
  })

  describe('consolidates', () => {
    it('its memory, by the function given: exactly the memory and all records', async () => {
      const { session } = await start()
      await session.send('hi')
      expect(await session.memory()).toBeNull()
      const fn = vi.fn(async (memory: string | null, messages: Message[]) => `${memory}+${messages.length}`)
      await session.consolidate(fn)
      expect(await session.memory()).toBe('null+2')
      await session.consolidate(fn)
      expect(await session.memory()).toBe('null+2+2')
      expect(fn.mock.calls.map((call) => call.length)).toEqual([2, 2])
      expect(fn.mock.calls[1]).toEqual(['null+2', await session.messages()])
    })

    it('by the function bound at creation, over which a given one wins', async () => {
      const { storage, session, id } = await start({ consolidateFn: async () => 'bound' })
      await session.consolidate()
      expect(await session.memory()).toBe('bound')
      await session.consolidate(async () => 'given')
      expect(await session.memory()).toBe('given')
      const loaded = (await loadSession(id, { storage, consolidateFn: async () => 'at load' })) as Session
      await loaded.consolidate()
      expect(await session.memory()).toBe('at load')
    })

    it('not at all without a function', async () => {
      const { session } = await start()
      await expect(session.consolidate()).rejects.toThrow(/^No consolidateFn configured for this session$/)
      await expect(session.consolidate(undefined)).rejects.toThrow(/^No consolidateFn configured for this session$/)
    })

    it('to nothing when the function fails, whose error comes as the same object, or answers no string', async () => {
      const { session } = await start()
      await session.consolidate(async () => 'before')
      const error = new Error('mine')
      await expect(session.consolidate(() => Promise.reject(error))).rejects.toBe(error)
      await expect(session.consolidate(() => { throw error })).rejects.toBe(error)
      for (const wrong of [7, undefined, null, {}]) await expect(session.consolidate(async () => wrong as never)).rejects.toThrow(/consolidateFn must return a string/)
      expect(await session.memory()).toBe('before')
    })

    it('never by itself', async () => {
      const consolidateFn = vi.fn(async () => 'x')
      const { session } = await start({ consolidateFn })
      for (const question of ['1', '2', '3']) await session.send(question)
      await session.trimRecords(1)
      await session.archive()
      expect(consolidateFn).not.toHaveBeenCalled()
      expect(await session.memory()).toBeNull()
    })

    it('an empty memory too', async () => {
      const { session } = await start()
      await session.consolidate(async () => '')
      expect(await session.memory()).toBe('')
    })
  })

  describe('trims its records', () => {
    it('to the newest, from which the next turn goes on', async () => {
      const { session, llm } = await start({ label: '' })
      for (const question of ['1', '2', '3']) await session.send(question)
      await session.trimRecords(2)
      expect(text(await session.messages())).toEqual(['3', 'answer 5'])
      await session.trimRecords(10)
      expect(await session.messages()).toHaveLength(2)
      await session.send('4')
      expect(text(llm.prompts[3])).toEqual(['3', 'answer 5', '4'])
      await session.trimRecords(0)
      expect(await session.messages()).toEqual([])
    })

    it.each([-1, 1.5, Number.NaN, Infinity, '2' as never])('but not to %s', async (keepRecent) => {
      const { session } = await start()
      await session.send('1')
      await expect(session.trimRecords(keepRecent)).rejects.toThrow(/^keepRecent must be a non-negative integer$/)
      expect(await session.messages()).toHaveLength(2)
    })
  })

  it('changes adapter and tools from the next turn on', async () => {
    const { session, llm } = await start({ tools: [tool] })
    await session.send('1')
    const next = recording()
    session.setLLM(next)
    session.setTools([{ ...tool, name: 'g' }])
    expect(session.tools).toEqual([{ ...tool, name: 'g' }])
    await session.send('2')
    session.setTools(undefined)
    expect(session.tools).toBeUndefined()
    await session.send('3')
    expect(llm.options.map((options) => options?.tools)).toEqual([[tool]])
    expect(next.options.map((options) => options?.tools)).toEqual([[{ ...tool, name: 'g' }], undefined])
  })

  describe('that is archived', () => {
    it('refuses every change, in every handle, and stores nothing of it', async () => {
      const { storage, session, llm, id } = await start({ consolidateFn: async () => 'x' })
      const other = (await loadSession(id, { storage, llm, consolidateFn: async () => 'x' })) as Session
      await session.send('hi')
      await session.archive()
      const before = await contents(storage, id)
      for (const handle of [session, other]) {
        expect(handle.meta.status).toBe('archived')
        const refused = [
          () => handle.send('x'),
          () => handle.setSystemPrompt('x'),
          () => handle.setInsight('x'),
          () => handle.consolidate(),
          () => handle.consolidate(async () => 'y'),
          () => handle.trimRecords(1),
          () => handle.updateMeta({ label: 'x' }),
        ]
        for (const change of refused) {
          const failure = change()
          await expect(failure).rejects.toThrow(`Session "${id}" is archived and cannot be modified`)
          await expect(failure).rejects.toBeInstanceOf(SessionArchivedError)
        }
        expect(() => handle.stream('x')).toThrow(SessionArchivedError)
      }
      expect(await contents(storage, id)).toEqual(before)
    })

    it('is read, archived again and forked as before', async () => {
      const { storage, session, id } = await start({ systemPrompt: 'P' })
      await session.send('hi')
      await session.setInsight('I')
      await session.consolidate(async () => 'M')
      await session.archive()
      const { updatedAt } = session.meta
      await session.archive()
      expect(session.meta.updatedAt).toBe(updatedAt)
      expect(await session.messages()).toHaveLength(2)
      expect([await session.systemPrompt(), await session.insight(), await session.memory()]).toEqual(['P', 'I', 'M'])
      const child = await session.fork({ label: 'child', context: 'inherit' })
      expect(child.meta.status).toBe('active')
      await child.send('on')
      expect(await child.messages()).toHaveLength(4)
      session.setLLM(recording())
      session.setTools([])
      expect((await storage.getSession(id))?.status).toBe('archived')
      expect((await loadSession(id, { storage }))?.meta.status).toBe('archived')
    })
  })

  describe('refuses arguments of the wrong type by name, before anything is read or written', () => {
    const wrongOptions: Array<[string, Record<string, unknown>, RegExp]> = [
      ['storage', { storage: undefined }, /options\.storage must be a storage object, got undefined/],
      ['storage', { storage: null }, /options\.storage/],
      ['id', { id: 7 }, /options\.id must be a string, got 7/],
      ['parentId', { parentId: 7 }, /options\.parentId must be a string, got 7/],
      ['label', { label: null }, /options\.label must be a string, got null/],
      ['systemPrompt', { systemPrompt: 1 }, /options\.systemPrompt must be a string/],
      ['tags', { tags: 'a' }, /options\.tags must be an array of strings/],
      ['a tag', { tags: ['a', 1] }, /options\.tags\[1\] must be a string/],
      ['metadata', { metadata: [] }, /options\.metadata must be an object/],
      ['metadata that JSON cannot hold', { metadata: { n: 1n } }, /options\.metadata cannot be written as JSON/],
      ['llm', { llm: {} }, /options\.llm\.complete must be a function/],
      ['llm', { llm: 'gpt' }, /options\.llm must be an LLMAdapter/],
      ['stream', { llm: { complete() {}, stream: 1 } }, /options\.llm\.stream must be a function/],
      ['window', { llm: { complete() {}, maxContextTokens: '8k' } }, /options\.llm\.maxContextTokens must be a number/],
      ['tools', { tools: {} }, /options\.tools must be an array/],
      ['a tool', { tools: [{ name: 1 }] }, /options\.tools\[0\]\.name must be a string/],
      ['compressFn', { compressFn: 'x' }, /options\.compressFn must be a function/],
      ['consolidateFn', { consolidateFn: {} }, /options\.consolidateFn must be a function/],
    ]

    it.each(wrongOptions)('createSession: %s', async (_name, wrong, message) => {
      const storage = make()
      const failure = createSession({ storage, ...wrong } as never)
      await expect(failure).rejects.toThrow(message)
      await expect(failure).rejects.toBeInstanceOf(TypeError)
      expect(await storage.listSessions()).toEqual([])
    })

    it('every function and method', async () => {
      const { storage, session, id } = await start()
      const before = await contents(storage, id)
      const any = session as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>
      const calls: Array<[() => unknown, RegExp]> = [
        [() => createSession(undefined as never), /options/],
        [() => loadSession(7 as never, { storage }), /id must be a string, got 7/],
        [() => loadSession('x', undefined as never), /options/],
        [() => loadSession('x', { storage, systemPrompt: 7 } as never), /options\.systemPrompt/],
        [() => any.messages(null), /options must be an object/],
        [() => any.messages({ limit: -1 }), /options\.limit must be a non-negative integer/],
        [() => any.messages({ offset: 0.5 }), /options\.offset/],
        [() => any.messages({ role: 7 }), /options\.role/],
        [() => any.messages({ role: 'bot' }), /options\.role must be 'system', 'user', 'assistant' or 'tool', got "bot"/],
        [() => any.setSystemPrompt(null), /content must be a string, got null/],
        [() => any.setInsight(undefined), /content must be a string/],
        [() => any.consolidate('x'), /fn must be a function/],
        [() => any.updateMeta(7), /updates must be an object/],
        [() => any.updateMeta({ label: 7 }), /updates\.label/],
        [() => any.updateMeta({ tags: [7] }), /updates\.tags\[0\]/],
        [() => any.updateMeta({ metadata: 'x' }), /updates\.metadata/],
        [() => any.fork(), /options\.label/],
        [() => any.fork({}), /options\.label must be a string, got undefined/],
      ]
      for (const [call, message] of calls) {
        const failure = call() as Promise<unknown>
        await expect(failure).rejects.toThrow(message)
        await expect(failure).rejects.toBeInstanceOf(TypeError)
      }
      expect(() => any.setLLM(undefined)).toThrow(TypeError)
      expect(() => any.setLLM({ maxContextTokens: 1 })).toThrow(/adapter\.complete must be a function/)
      expect(() => any.setTools('x')).toThrow(/tools must be an array/)
      expect(await contents(storage, id)).toEqual(before)
    })
  })
})

describe('a session on a storage written in JavaScript', () => {
  it('asks the storage for what it was asked, with the options given and no others', async () => {
    const storage = new MapStorage()
    const session = await createSession({ storage })
    const listRecords = vi.spyOn(storage, 'listRecords')
    await session.messages()
    await session.messages({ limit: 2, role: undefined })
    expect(listRecords.mock.calls).toEqual([[session.meta.id], [session.meta.id, { limit: 2 }]])
  })

  it('needs only the methods that it uses', async () => {
    const stored = new Map<string, SessionMeta>()
    const storage = { getSession: (id: string) => stored.get(id), putSession: (meta: SessionMeta) => void stored.set(meta.id, meta) }
    const session = await createSession({ storage: storage as never, id: 'a' })
    await session.updateMeta({ label: 'b' })
    expect(stored.get('a')?.label).toBe('b')
    await expect(session.insight()).rejects.toThrow(new TypeError('storage.getInsight must be a function, got undefined'))
  })

  it('writes one thing without a transaction, and several in one', async () => {
    const storage = new MapStorage()
    const transaction = vi.spyOn(storage, 'transaction')
    const session = await createSession({ storage })
    await session.setInsight('x')
    await session.consolidate(async () => 'm')
    expect(transaction).not.toHaveBeenCalled()
    await createSession({ storage, systemPrompt: 'p' })
    expect(transaction).toHaveBeenCalledTimes(1)
  })

  it('hands on what its methods throw, as the same object', async () => {
    const storage = new MapStorage()
    const session = await createSession({ storage })
    const error = { odd: true }
    for (const method of ['getSystemPrompt', 'getInsight', 'getMemory', 'listRecords', 'putSystemPrompt', 'putInsight', 'trimRecords', 'getSession'] as const) {
      storage[method] = (() => Promise.reject(error)) as never
    }
    const calls = [
      session.systemPrompt,
      session.insight,
      session.memory,
      session.messages,
      () => session.setSystemPrompt('x'),
      () => session.setInsight('x'),
      () => session.trimRecords(1),
      () => session.updateMeta({ label: 'x' }),
      () => session.consolidate(async () => 'x'),
      () => loadSession('x', { storage }),
    ]
    for (const call of calls) await expect(call()).rejects.toBe(error)
  })

  it('changes metadata from what is stored now, so that what others changed stays', async () => {
    const storage = new MapStorage()
    const session = await createSession({ storage, id: 'a', label: 'mine' })
    await storage.putSession({ ...(storage.sessions.get('a') as SessionMeta), tags: ['theirs'] })
    await session.updateMeta({ label: 'changed' })
    expect(session.meta).toMatchObject({ label: 'changed', tags: ['theirs'] })
  })

  it('keeps what else the storage has in its metadata', async () => {
    const storage = new MapStorage()
    const session = await createSession({ storage, id: 'a' })
    const own = { turns: 3, since: new Date(0) }
    storage.sessions.set('a', { ...(storage.sessions.get('a') as SessionMeta), ...own })
    await session.updateMeta({ label: 'L' })
    expect(storage.sessions.get('a')).toEqual({ ...session.meta, ...own })
    await session.archive()
    expect(storage.sessions.get('a')).toEqual({ ...session.meta, ...own })
  })

  it('is loaded where the storage has no role, status, tags or metadata for it, or has null', async () => {
    const now = '2020-01-01T00:00:00.000Z'
    for (const rest of [{}, { role: null, status: null, tags: null, metadata: null }]) {
      const storage = new MapStorage()
      storage.sessions.set('a', { id: 'a', label: 'L', createdAt: now, updatedAt: now, ...rest } as never)
      const session = await loadSession('a', { storage, llm: recording() })
      expect(session?.meta).toEqual({ id: 'a', label: 'L', role: 'standard', status: 'active', tags: [], metadata: {}, createdAt: now, updatedAt: now })
      await session?.send('hi')
      expect(await listSessionDigests(storage)).toEqual([{ id: 'a', label: 'L', status: 'active', memory: null, insight: null }])
    }
  })

  it('names the method and the field where the storage answers metadata of the wrong shape', async () => {
    const now = '2020-01-01T00:00:00.000Z'
    const right = { id: 'a', label: 'L', role: 'standard', status: 'active', tags: [], metadata: {}, createdAt: now, updatedAt: now }
    for (const wrong of [{ label: 7 }, { status: 'asleep' }, { createdAt: 7 }]) {
      const storage = new MapStorage()
      storage.sessions.set('a', { ...right, ...wrong } as never)
      const failure: unknown = await loadSession('a', { storage }).catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(StorageError)
      expect((failure as Error).message).toMatch(/^storage\.getSession\(\) answered the wrong shape/)
    }
  })
})

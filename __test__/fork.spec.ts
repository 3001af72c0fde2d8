import { Session, createSession, loadSession, type CreateSessionOptions, type ForkContextFn, type Message } from '@stello-ai/session'
import { describe, expect, it, vi } from 'vitest'
import { recording } from './support/adapters.js'
import { contents, storages } from './support/storages.js'

const text = (messages: Message[]) => messages.map(({ content }) => content)
const user = (content: string): Message => ({ role: 'user', content })
const calling = (content: string, id: string): Message => ({ role: 'assistant', content, toolCalls: [{ id, name: 'f', input: { a: 1 } }] })
const tool = { name: 'f', description: 'd', inputSchema: { type: 'object' } }

describe.each(storages)('a fork on $name', ({ make }) => {
  async function start(options: Partial<CreateSessionOptions> = {}) {
    const storage = make()
    const llm = recording()
    const parent = await createSession({ storage, llm, label: 'parent', systemPrompt: 'P', tags: ['p'], metadata: { p: 1 }, ...options })
    return { storage, llm, parent, id: parent.meta.id }
  }

  it('is a session with a new id, its label, and nothing of the history by default', async () => {
    const { storage, parent, id } = await start()
    await parent.send('hi')
    await parent.setInsight('I')
    await parent.consolidate(async () => 'M')
    const child = await parent.fork({ label: 'child' })
    expect(child).toBeInstanceOf(Session)
    expect(child.meta).toMatchObject({ label: 'child', role: 'standard', status: 'active', tags: [], metadata: {} })
    expect(child.meta.id).not.toBe(id)
    expect(await contents(storage, child.meta.id)).toEqual({ meta: child.meta, records: [], systemPrompt: 'P', insight: null, memory: null, sessions: 2 })
    expect((await loadSession(child.meta.id, { storage }))?.meta).toEqual(child.meta)
  })

  it('has the id, tags and metadata that it is given', async () => {
    const { parent } = await start()
    const child = await parent.fork({ label: 'child', id: 'given', tags: ['c'], metadata: { c: 2 } })
    expect(child.meta).toMatchObject({ id: 'given', tags: ['c'], metadata: { c: 2 } })
  })

  it('is refused an id that a session has, and changes nothing', async () => {
    const { storage, parent, id } = await start()
    const other = await createSession({ storage, id: 'taken', llm: recording() })
    await other.send('mine')
    await other.archive()
    const before = [await contents(storage, 'taken'), await contents(storage, id)]
    for (const taken of ['taken', id]) {
      await expect(parent.fork({ label: 'f', id: taken, context: 'inherit' })).rejects.toThrow(new TypeError(`options.id must be one that no session has, got "${taken}"`))
    }
    expect([await contents(storage, 'taken'), await contents(storage, id)]).toEqual(before)
  })

  it('is one of several at once with the same id: the others are refused', async () => {
    const { storage, parent } = await start()
    await parent.send('hello')
    const records = (await parent.messages()).length
    const forks = [0, 1, 2, 3, 4, 5].map((n) => parent.fork({ label: `${n}`, id: 'same', context: n % 2 === 0 ? 'inherit' : async (all) => all, prompt: 'first' }))
    const outcomes = await Promise.allSettled(forks)
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const outcome of outcomes) if (outcome.status === 'rejected') expect(outcome.reason).toEqual(new TypeError('options.id must be one that no session has, got "same"'))
    expect(await storage.listRecords('same')).toHaveLength(records + 1)
  })

  it("has the system prompt that it is given, else the parent's of this moment", async () => {
    const { parent } = await start()
    expect(await (await parent.fork({ label: 'c', systemPrompt: 'own' })).systemPrompt()).toBe('own')
    await parent.setSystemPrompt('later')
    expect(await (await parent.fork({ label: 'c', systemPrompt: undefined })).systemPrompt()).toBe('later')
    expect(await (await parent.fork({ label: 'c', systemPrompt: '' })).systemPrompt()).toBeNull()
  })

  it("inherits the whole history with 'inherit', in order, unknown fields and all", async () => {
    const { storage, parent, id } = await start()
    await storage.appendRecord(id, { ...user('first'), custom: { n: 1 }, timestamp: '2020-01-01T00:00:00.000Z' } as Message)
    await parent.send('hi')
    const child = await parent.fork({ label: 'child', context: 'inherit' })
    expect(await child.messages()).toEqual(await parent.messages())
    expect((await child.messages())[0]).toMatchObject({ custom: { n: 1 } })
  })

  it('inherits nothing but complete tool call groups', async () => {
    const { storage, parent, id } = await start()
    const records = [user('q'), calling('', 'a'), { role: 'tool', content: 'r', toolCallId: 'a' } as Message, calling('lost', 'b'), user('next'), calling('', 'c')]
    for (const record of records) await storage.appendRecord(id, record)
    expect(await (await parent.fork({ label: 'c', context: 'inherit' })).messages()).toEqual([0, 1, 2, 4].map((index) => records[index]))
    expect(await (await parent.fork({ label: 'c', context: (all) => all.slice(2) })).messages()).toEqual([records[4]])
    expect(await parent.messages()).toEqual(records)
  })

  it("inherits what a function makes of the parent's records, sync or async", async () => {
    const { parent } = await start()
    await parent.send('one')
    await parent.send('two')
    const context = vi.fn<ForkContextFn>((records) => records.slice(-2).map((record) => ({ ...record, content: record.content.toUpperCase() })))
    const child = await parent.fork({ label: 'child', context })
    expect(context.mock.calls).toEqual([[await parent.messages()]])
    expect(text(await child.messages())).toEqual(['TWO', 'ANSWER 5'])
    expect(text(await (await parent.fork({ label: 'c', context: async () => [user('made up')] })).messages())).toEqual(['made up'])
    expect(await (await parent.fork({ label: 'c', context: () => [] })).messages()).toEqual([])
  })

  it('begins with prompt as an assistant record after what it inherits', async () => {
    const { parent, llm } = await start()
    await parent.send('hi')
    const child = await parent.fork({ label: 'child', context: 'inherit', prompt: 'Shall we?' })
    const records = await child.messages()
    expect(records).toHaveLength(3)
    expect(records[2]).toEqual({ role: 'assistant', content: 'Shall we?', timestamp: expect.stringMatching(/Z$/) })
    await child.send('yes')
    expect(text(llm.prompts[1])).toEqual(['P', expect.stringContaining('child'), 'hi', 'answer 3', 'Shall we?', 'yes'])
    expect(await (await parent.fork({ label: 'c', prompt: '' })).messages()).toEqual([])
  })

  it('inherits adapter, tools and functions of the moment, unless they are given', async () => {
    const { parent } = await start({ consolidateFn: async () => 'inherited' })
    const later = recording(() => ({ content: 'later' }))
    parent.setLLM(later)
    parent.setTools([tool])
    const child = await parent.fork({ label: 'child' })
    parent.setLLM(recording())
    parent.setTools(undefined)
    expect(child.tools).toEqual([tool])
    expect((await child.send('x')).content).toBe('later')
    expect(later.options[0]?.tools).toEqual([tool])
    await child.consolidate()
    expect(await child.memory()).toBe('inherited')

    const own = recording(() => ({ content: 'own' }))
    const given = await parent.fork({ label: 'g', llm: own, tools: [{ ...tool, name: 'g' }], consolidateFn: async () => 'given' })
    expect((await given.send('x')).content).toBe('own')
    expect(own.options[0]?.tools).toEqual([{ ...tool, name: 'g' }])
    await given.consolidate()
    expect(await given.memory()).toBe('given')
  })

  it('inherits the compressor, unless one is given', async () => {
    const inherited = vi.fn(async () => 'inherited')
    const given = vi.fn(async () => 'given')
    const { parent, storage, id } = await start({ llm: recording(undefined, 2_000), compressFn: inherited, systemPrompt: '' })
    for (let n = 0; n < 12; n++) await storage.appendRecord(id, { role: n % 2 === 0 ? 'user' : 'assistant', content: 'word '.repeat(160) })
    await (await parent.fork({ label: 'c', context: 'inherit' })).send('x')
    expect(inherited).toHaveBeenCalled()
    expect(given).not.toHaveBeenCalled()
    inherited.mockClear()
    await (await parent.fork({ label: 'c', context: 'inherit', compressFn: given })).send('x')
    expect(inherited).not.toHaveBeenCalled()
    expect(given).toHaveBeenCalled()
  })

  it('and its parent are independent from then on', async () => {
    const { parent, id, storage } = await start()
    await parent.send('hi')
    const child = await parent.fork({ label: 'child', context: 'inherit' })
    const before = await contents(storage, id)
    await child.send('mine')
    await child.setSystemPrompt('other')
    await child.trimRecords(1)
    await child.archive()
    expect(await contents(storage, id)).toEqual(before)
    await parent.send('still here')
    expect(await child.messages()).toHaveLength(1)
  })

  it('may be forked again', async () => {
    const { parent } = await start()
    await parent.send('hi')
    const grandchild = await (await parent.fork({ label: 'a', context: 'inherit' })).fork({ label: 'b', context: 'inherit' })
    expect(await grandchild.messages()).toEqual(await parent.messages())
    expect(await grandchild.systemPrompt()).toBe('P')
  })

  it('writes no topology node', async () => {
    const { storage, parent, id } = await start({ parentId: null })
    await parent.fork({ label: 'child' })
    expect(await storage.getChildren(id)).toEqual([])
  })

  describe('that fails leaves nothing:', () => {
    const error = new Error('mine')

    it.each<[string, ForkContextFn]>([
      ['a context function that throws', () => { throw error }],
      ['one that rejects', () => Promise.reject(error)],
    ])('%s, whose error comes as the same object', async (_name, context) => {
      const { storage, parent } = await start()
      await expect(parent.fork({ label: 'c', id: 'c', context })).rejects.toBe(error)
      expect(await storage.getSession('c')).toBeNull()
      expect(await storage.getSystemPrompt('c')).toBeNull()
    })

    it('a context function that returns no messages', async () => {
      const { storage, parent } = await start()
      for (const wrong of [undefined, null, 'x', [7], [{ role: 'bot', content: '' }], [{ role: 'user' }]]) {
        const failure = parent.fork({ label: 'c', id: 'c', context: () => wrong as never })
        await expect(failure).rejects.toThrow(/options\.context/)
        await expect(failure).rejects.toBeInstanceOf(TypeError)
      }
      expect(await storage.getSession('c')).toBeNull()
    })

    it.each(['putSession', 'putSystemPrompt', 'appendRecord'] as const)('%s that fails', async (method) => {
      const { storage, parent } = await start()
      await parent.send('hi')
      const working = storage[method]
      storage[method] = () => Promise.reject(error)
      await expect(parent.fork({ label: 'c', id: 'c', context: 'inherit' })).rejects.toBe(error)
      storage[method] = working as never
      expect(await contents(storage, 'c')).toMatchObject({ meta: null, records: [], systemPrompt: null, sessions: 1 })
    })

    it('arguments of the wrong type', async () => {
      const { storage, parent } = await start()
      const wrong: Array<[object, RegExp]> = [
        [{ label: 7 }, /options\.label must be a string, got 7/],
        [{ id: 7 }, /options\.id/],
        [{ systemPrompt: null }, /options\.systemPrompt/],
        [{ prompt: 7 }, /options\.prompt/],
        [{ context: 'all' }, /options\.context must be 'none', 'inherit' or a function, got "all"/],
        [{ tags: [7] }, /options\.tags\[0\]/],
        [{ metadata: [] }, /options\.metadata/],
        [{ llm: {} }, /options\.llm\.complete/],
        [{ tools: 'x' }, /options\.tools/],
        [{ compressFn: 'x' }, /options\.compressFn/],
        [{ consolidateFn: 'x' }, /options\.consolidateFn/],
      ]
      for (const [options, message] of wrong) await expect(parent.fork({ label: 'c', ...options } as never)).rejects.toThrow(message)
      expect(await storage.listSessions()).toHaveLength(1)
    })
  })

  it('keeps nothing of what its context function was given or returned', async () => {
    const { parent, storage, id } = await start()
    await storage.appendRecord(id, user('original'))
    const returned: Message[] = [calling('', 'a'), { role: 'tool', content: 'r', toolCallId: 'a' }]
    const child = await parent.fork({
      label: 'c',
      context: (records) => {
        for (const record of records) record.content = 'changed'
        return returned
      },
    })
    const [call] = returned
    if (call?.toolCalls?.[0] !== undefined) call.toolCalls[0].input.a = 'changed'
    expect(text(await parent.messages())).toEqual(['original'])
    expect((await child.messages())[0]?.toolCalls?.[0]?.input).toEqual({ a: 1 })
  })

  it('waits for no turn of its parent', async () => {
    const { parent } = await start()
    let release = () => {}
    parent.setLLM(recording(() => new Promise((resolve) => (release = () => resolve({ content: 'done' })))))
    const turn = parent.send('slow')
    const child = await parent.fork({ label: 'c', context: 'inherit' })
    expect(await child.messages()).toEqual([])
    await vi.waitFor(() => {
      release()
      return expect(Promise.race([turn, Promise.reject(new Error('not yet'))])).resolves.toMatchObject({ content: 'done' })
    })
  })
})

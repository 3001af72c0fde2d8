import {
  MainSession,
  Session,
  SessionArchivedError,
  StorageError,
  createMainSession,
  createSession,
  loadMainSession,
  loadSession,
  type ChildL2Summary,
  type IntegrateResult,
} from '@stello-ai/session'
import { describe, expect, it, vi } from 'vitest'
import { recording } from './support/adapters.js'
import { MapStorage } from './support/map-storage.js'
import { contents, allStorages } from './support/storages.js'

const nothing: IntegrateResult = { synthesis: 's', insights: [] }

describe.each(allStorages)('a main session on $name', ({ make }) => {
  async function start(options: Partial<Parameters<typeof createMainSession>[0]> = {}) {
    const storage = make()
    const llm = recording()
    const main = await createMainSession({ storage, llm, ...options })
    const child = async (label: string, memory?: string) => {
      const session = await createSession({ storage, llm, id: label, label })
      if (memory !== undefined) await session.consolidate(async () => memory)
      return session
    }
    return { storage, llm, main, child, id: main.meta.id }
  }

  it('is created with its role and default label, and loaded again', async () => {
    const { storage, main, llm, id } = await start()
    expect(main).toBeInstanceOf(MainSession)
    expect(main).not.toBeInstanceOf(Session)
    expect(main.meta).toMatchObject({ label: 'Main Session', role: 'main', status: 'active', tags: [], metadata: {} })
    await main.send('hi')
    const loaded = (await loadMainSession(id, { storage, llm })) as MainSession
    expect(loaded).toBeInstanceOf(MainSession)
    expect(loaded.meta).toEqual(main.meta)
    expect(await loaded.messages()).toEqual(await main.messages())
  })

  it('is loaded as null for an id that is absent or a standard session', async () => {
    const { storage, child } = await start()
    await child('a')
    expect(await loadMainSession('nobody', { storage })).toBeNull()
    expect(await loadMainSession('a', { storage })).toBeNull()
  })

  it('has the members of a session, but synthesis and integrate where that has insight, memory and consolidate', async () => {
    const { main, child } = await start()
    const theirs = Object.keys(await child('a')).filter((name) => !['insight', 'setInsight', 'memory', 'consolidate'].includes(name))
    expect(Object.keys(main).toSorted()).toEqual([...theirs, 'synthesis', 'integrate'].toSorted())
  })

  it('shows the model system prompt, synthesis, history and the message, and keeps the synthesis', async () => {
    const { main, llm, child } = await start({ systemPrompt: 'P', label: 'ignored' })
    await child('a', 'memory of a')
    await main.integrate(async () => ({ synthesis: 'S', insights: [] }))
    await main.send('1')
    await main.stream('2').result
    expect(llm.prompts[0].slice(0, -1)).toEqual([{ role: 'system', content: 'P' }, { role: 'system', content: 'S' }])
    expect(llm.prompts[1].map(({ content }) => content)).toEqual(['P', 'S', '1', 'answer 3', '2'])
    expect(await main.synthesis()).toBe('S')
  })

  it('leaves an insight stored under its id alone: it does not receive any', async () => {
    const { storage, main, llm, id } = await start()
    await storage.putInsight(id, 'not for me')
    await main.send('1')
    expect(JSON.stringify(llm.prompts[0])).not.toContain('not for me')
    expect(await storage.getInsight(id)).toBe('not for me')
  })

  it('does what a session does', async () => {
    const { main } = await start({ tags: ['t'], metadata: { m: 1 } })
    await main.send('1')
    await main.send('2')
    expect(await main.messages({ role: 'user', offset: 1 })).toMatchObject([{ content: '2' }])
    await main.setSystemPrompt('P')
    expect(await main.systemPrompt()).toBe('P')
    await main.trimRecords(1)
    expect(await main.messages()).toHaveLength(1)
    await main.updateMeta({ label: 'L' })
    expect(main.meta).toMatchObject({ label: 'L', role: 'main', tags: ['t'], metadata: { m: 1 } })
    const next = recording()
    main.setLLM(next)
    main.setTools([{ name: 'f', description: 'd', inputSchema: { type: 'object' } }])
    const { send } = main
    await send('3')
    expect(next.options[0]?.tools).toHaveLength(1)
    expect(main.tools).toHaveLength(1)
  })

  it('forks into a standard session', async () => {
    const { main } = await start({ systemPrompt: 'P' })
    await main.send('1')
    const fork = await main.fork({ label: 'child', context: 'inherit' })
    expect(fork).toBeInstanceOf(Session)
    expect(fork.meta.role).toBe('standard')
    expect(await fork.systemPrompt()).toBe('P')
    expect(await fork.messages()).toEqual(await main.messages())
    expect(await fork.memory()).toBeNull()
  })

  describe('integrates', () => {
    it('the memories of active standard sessions into a synthesis and insights for them', async () => {
      const { main, child } = await start()
      const a = await child('a', 'memory of a')
      const b = await child('b', 'memory of b')
      await child('without memory')
      await (await child('archived', 'old')).archive()
      const fn = vi.fn(async (children: ChildL2Summary[], current: string | null) => ({
        synthesis: `${current}/${children.length}`,
        insights: [{ sessionId: 'a', content: 'for a' }],
      }))
      expect(await main.synthesis()).toBeNull()
      const result = await main.integrate(fn)
      expect(fn.mock.calls).toEqual([[[{ sessionId: 'a', label: 'a', l2: 'memory of a' }, { sessionId: 'b', label: 'b', l2: 'memory of b' }], null]])
      expect(result).toEqual({ synthesis: 'null/2', insights: [{ sessionId: 'a', content: 'for a' }] })
      expect(await main.synthesis()).toBe('null/2')
      expect([await a.insight(), await b.insight()]).toEqual(['for a', null])
      expect(await a.memory()).toBe('memory of a')
      await main.integrate(fn)
      expect(fn.mock.calls[1]?.[1]).toBe('null/2')
    })

    it('without its own synthesis among the memories', async () => {
      const { main } = await start()
      await main.integrate(async () => nothing)
      const seen = vi.fn(async (_children: ChildL2Summary[]) => nothing)
      await main.integrate(seen)
      expect(seen.mock.calls[0]?.[0]).toEqual([])
    })

    it('dropping insights for ids that were not among the children, and keeping other fields of the result', async () => {
      const { storage, main, child, id } = await start()
      await child('a', 'm')
      await child('no memory')
      const result = await main.integrate(async () => ({
        synthesis: 's',
        insights: ['a', 'no memory', 'nobody', id].map((sessionId) => ({ sessionId, content: 'i', extra: 1 })),
        reason: { mine: true },
      }))
      expect(result).toEqual({ synthesis: 's', insights: [{ sessionId: 'a', content: 'i', extra: 1 }], reason: { mine: true } })
      for (const other of ['no memory', 'nobody', id]) expect(await storage.getInsight(other)).toBeNull()
    })

    it('replacing the insight that waits', async () => {
      const { main, child } = await start()
      const a = await child('a', 'm')
      await a.setInsight('old')
      await main.integrate(async () => ({ synthesis: 's', insights: [{ sessionId: 'a', content: 'one' }, { sessionId: 'a', content: 'two' }] }))
      expect(await a.insight()).toBe('two')
    })

    it('by the function bound at creation or load, over which a given one wins', async () => {
      const { storage, main, id } = await start({ integrateFn: async () => ({ ...nothing, synthesis: 'bound' }) })
      expect((await main.integrate()).synthesis).toBe('bound')
      expect((await main.integrate(async () => ({ ...nothing, synthesis: 'given' }))).synthesis).toBe('given')
      const loaded = (await loadMainSession(id, { storage, integrateFn: async () => ({ ...nothing, synthesis: 'at load' }) })) as MainSession
      await loaded.integrate()
      expect(await main.synthesis()).toBe('at load')
    })

    it('not at all without a function', async () => {
      const { main } = await start()
      await expect(main.integrate()).rejects.toThrow(/^No integrateFn configured for this main session$/)
      await expect(main.integrate('x' as never)).rejects.toThrow(/fn must be a function/)
    })

    it('nothing when the function fails or answers the wrong shape', async () => {
      const { storage, main, child, id } = await start()
      await child('a', 'm')
      const before = [await contents(storage, id), await contents(storage, 'a')]
      const error = new Error('mine')
      await expect(main.integrate(() => Promise.reject(error))).rejects.toBe(error)
      for (const wrong of [undefined, null, 7, {}, { synthesis: 1, insights: [] }, { synthesis: 's' }, { synthesis: 's', insights: [{ sessionId: 'a' }] }]) {
        await expect(main.integrate(async () => wrong as never)).rejects.toThrow(/integrateFn must return \{ synthesis: string, insights/)
      }
      expect([await contents(storage, id), await contents(storage, 'a')]).toEqual(before)
    })

    it('all or nothing', async () => {
      const { storage, main, child, id } = await start()
      await child('a', 'm')
      const error = new Error('no room')
      storage.putInsight = () => Promise.reject(error)
      await expect(main.integrate(async () => ({ synthesis: 's', insights: [{ sessionId: 'a', content: 'i' }] }))).rejects.toBe(error)
      expect(await storage.getMemory(id)).toBeNull()
    })
  })

  it('that is archived refuses every change, and is read and forked as before', async () => {
    const { storage, main, id } = await start({ integrateFn: async () => nothing })
    await main.send('hi')
    await main.archive()
    const before = await contents(storage, id)
    const changes = [() => main.send('x'), () => main.setSystemPrompt('x'), () => main.integrate(), () => main.trimRecords(1), () => main.updateMeta({ label: 'x' })]
    for (const change of changes) await expect(change()).rejects.toThrow(SessionArchivedError)
    expect(() => main.stream('x')).toThrow(SessionArchivedError)
    await main.archive()
    expect(await main.synthesis()).toBeNull()
    expect(await main.messages()).toHaveLength(2)
    expect((await main.fork({ label: 'c' })).meta.status).toBe('active')
    expect(await contents(storage, id)).toEqual({ ...before, sessions: 2 })
  })

  it('shares its archived state with a standard handle over its id', async () => {
    const { storage, main, llm, id } = await start()
    const over = (await loadSession(id, { storage, llm })) as Session
    await over.archive()
    expect(main.meta.status).toBe('archived')
    await expect(main.send('x')).rejects.toThrow(SessionArchivedError)
  })
})

describe('a main session on a storage written in JavaScript', () => {
  it('reads memories and synthesis together, and writes synthesis and insights in one transaction', async () => {
    const storage = new MapStorage()
    const main = await createMainSession({ storage })
    const child = await createSession({ storage, id: 'a' })
    await child.consolidate(async () => 'm')
    const transaction = vi.spyOn(storage, 'transaction')
    await main.integrate(async () => ({ synthesis: 's', insights: [{ sessionId: 'a', content: 'i' }] }))
    expect(transaction).toHaveBeenCalledTimes(1)
  })

  it('fails at integrate, by name, where the storage cannot list memories', async () => {
    const storage = new MapStorage()
    Object.assign(storage, { getAllSessionL2s: undefined })
    const main = await createMainSession({ storage, llm: recording() })
    await main.send('works')
    await expect(main.integrate(async () => nothing)).rejects.toThrow(new TypeError('storage.getAllSessionL2s must be a function, got undefined'))
  })

  it('names the method that answers the wrong shape', async () => {
    const storage = new MapStorage()
    const main = await createMainSession({ storage })
    storage.getAllSessionL2s = async () => [{ sessionId: 1 }] as never
    const failure = main.integrate(async () => nothing)
    await expect(failure).rejects.toThrow(/storage\.getAllSessionL2s\(\)/)
    await expect(failure).rejects.toBeInstanceOf(StorageError)
  })
})

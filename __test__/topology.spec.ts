import {
  InMemoryStorageAdapter,
  createMainSession,
  createSession,
  createSessionTool,
  forkSession,
  listSessionDigests,
  type MainStorage,
  type SessionStorage,
} from '@stello-ai/session'
import { describe, expect, it, vi } from 'vitest'
import { recording } from './support/adapters.js'
import { MapStorage } from './support/map-storage.js'
import { allStorages } from './support/storages.js'

const roots = (storage: MainStorage) => storage.getChildren(null as never)

describe.each(allStorages)('the forest of sessions on $name', ({ make }) => {
  it('gets a root from parentId null, a node under its parent from an id, and nothing without', async () => {
    const storage = make()
    await createSession({ storage, id: 'root', label: 'Root', parentId: null })
    await createSession({ storage, id: 'child', label: 'Child', parentId: 'root' })
    await createSession({ storage, id: 'other', label: 'Other root', parentId: null })
    await createSession({ storage, id: 'unlisted' })
    await createMainSession({ storage, id: 'main', parentId: 'root' })
    expect(await roots(storage)).toEqual([{ id: 'root', parentId: null, label: 'Root' }, { id: 'other', parentId: null, label: 'Other root' }])
    expect(await storage.getChildren('root')).toEqual([{ id: 'child', parentId: 'root', label: 'Child' }, { id: 'main', parentId: 'root', label: 'Main Session' }])
    expect(await storage.getChildren('unlisted')).toEqual([])
  })

  it('has roots and children that behave alike', async () => {
    const storage = make()
    const llm = recording()
    const root = await createSession({ storage, llm, parentId: null, label: 'L' })
    const child = await createSession({ storage, llm, parentId: root.meta.id, label: 'L' })
    for (const session of [root, child]) {
      await session.setInsight('I')
      await session.send('hi')
      await session.consolidate(async () => 'M')
    }
    expect(llm.prompts[0]?.map(({ content }) => content)).toEqual(llm.prompts[1]?.map(({ content }) => content))
    expect(Object.keys(root)).toEqual(Object.keys(child))
    expect({ ...root.meta, id: '', createdAt: '', updatedAt: '' }).toEqual({ ...child.meta, id: '', createdAt: '', updatedAt: '' })
  })

  it('has sessions that see nothing of one another', async () => {
    const storage = make()
    const llm = recording()
    const root = await createSession({ storage, llm, parentId: null, label: 'SECRET label', systemPrompt: 'SECRET prompt' })
    await root.send('SECRET question')
    await root.consolidate(async () => 'SECRET memory')
    await root.setInsight('SECRET insight')
    const siblings = await Promise.all(['a', 'b'].map((label) => forkSession(root, { label, systemPrompt: 'own' })))
    llm.prompts.length = 0
    for (const session of siblings) await session.send(`from ${session.meta.label}`)
    expect(JSON.stringify(llm.prompts)).not.toContain('SECRET')
    expect(llm.prompts.map((prompt) => prompt.length)).toEqual([3, 3])
  })

  it('has nodes that are put anew and removed', async () => {
    const storage = make()
    await createSession({ storage, id: 'root', parentId: null, label: 'one' })
    await storage.putNode({ id: 'root', parentId: null, label: 'two' })
    expect(await roots(storage)).toEqual([{ id: 'root', parentId: null, label: 'two' }])
    await storage.removeNode('root')
    await storage.removeNode('nobody')
    expect(await roots(storage)).toEqual([])
    expect(await storage.getSession('root')).not.toBeNull()
  })

  it('leaves alone the node of a caller who passes an id without parentId', async () => {
    const storage = make()
    await storage.putNode({ id: 'mine', parentId: 'elsewhere', label: 'kept' })
    await createSession({ storage, id: 'mine', label: 'L' })
    expect(await storage.getChildren('elsewhere')).toEqual([{ id: 'mine', parentId: 'elsewhere', label: 'kept' }])
  })

  describe('grows by forkSession', () => {
    it('a node under the parent, with the id and label of the fork', async () => {
      const storage = make()
      const llm = recording()
      const root = await createSession({ storage, llm, id: 'root', parentId: null, systemPrompt: 'P' })
      await root.send('hi')
      const child = await forkSession(root, { label: 'Child', context: 'inherit', prompt: 'Hello' })
      expect(await storage.getChildren('root')).toEqual([{ id: child.meta.id, parentId: 'root', label: 'Child' }])
      expect(await child.messages()).toHaveLength(3)
      expect(await child.systemPrompt()).toBe('P')
      const given = await forkSession(child, { label: 'Given', id: 'given' })
      expect(given.meta.id).toBe('given')
      expect(await storage.getChildren(child.meta.id)).toEqual([{ id: 'given', parentId: child.meta.id, label: 'Given' }])
    })

    it('from a main session too', async () => {
      const storage = make()
      const main = await createMainSession({ storage, id: 'main', parentId: null })
      const child = await forkSession(main, { label: 'c' })
      expect(child.meta.role).toBe('standard')
      expect(await storage.getChildren('main')).toHaveLength(1)
    })

    it('from a spread copy of a session too', async () => {
      const storage = make()
      const root = await createSession({ storage, id: 'root', parentId: null })
      await forkSession({ ...root }, { label: 'c' })
      expect(await storage.getChildren('root')).toHaveLength(1)
    })

    it('leaving no node and no session when the fork fails', async () => {
      const storage = make()
      const root = await createSession({ storage, id: 'root', parentId: null })
      const error = new Error('mine')
      await expect(forkSession(root, { label: 'c', id: 'c', context: () => Promise.reject(error) })).rejects.toBe(error)
      storage.putSession = () => Promise.reject(error)
      await expect(forkSession(root, { label: 'c', id: 'c' })).rejects.toBe(error)
      expect(await storage.getChildren('root')).toEqual([])
      expect(await storage.getSession('c')).toBeNull()
    })

    it('refusing what is no session, and wrong options', async () => {
      const storage = make()
      const root = await createSession({ storage, id: 'root', parentId: null })
      await expect(forkSession({} as never, { label: 'c' })).rejects.toThrow(/parent must be a session of this package, got an object/)
      await expect(forkSession(undefined as never, { label: 'c' })).rejects.toThrow(TypeError)
      await expect(forkSession(root, {} as never)).rejects.toThrow(/options\.label/)
      expect(await storage.getChildren('root')).toEqual([])
    })
  })

  it('is told as digests: memory and insight of every session, by status', async () => {
    const storage = make()
    const a = await createSession({ storage, id: 'a', label: 'A' })
    await a.consolidate(async () => 'memory of a')
    await a.setInsight('insight for a')
    await createSession({ storage, id: 'b', label: 'B' })
    const c = await createSession({ storage, id: 'c', label: 'C' })
    await c.archive()
    const [digestA, digestB, digestC] = [
      { id: 'a', label: 'A', status: 'active', memory: 'memory of a', insight: 'insight for a' },
      { id: 'b', label: 'B', status: 'active', memory: null, insight: null },
      { id: 'c', label: 'C', status: 'archived', memory: null, insight: null },
    ]
    expect(await listSessionDigests(storage)).toEqual([digestA, digestB, digestC])
    expect(await listSessionDigests(storage, {})).toEqual([digestA, digestB, digestC])
    expect(await listSessionDigests(storage, { status: undefined })).toHaveLength(3)
    expect(await listSessionDigests(storage, { status: 'active' })).toEqual([digestA, digestB])
    expect(await listSessionDigests(storage, { status: 'archived' })).toEqual([digestC])
    await expect(listSessionDigests(storage, { status: 'gone' as never })).rejects.toThrow(/filter\.status must be 'active' or 'archived'/)
    await expect(listSessionDigests(undefined as never)).rejects.toThrow(/storage must be a storage object/)
  })

  it('lets a reflection read digests and answer with insights, which the next turns show once', async () => {
    const storage = make()
    const llm = recording()
    const a = await createSession({ storage, llm, id: 'a', label: '' })
    await storage.putMemory('a', 'likes tea')
    const reflect = async () => {
      for (const { id, memory } of await listSessionDigests(storage, { status: 'active' })) await storage.putInsight(id, `told: ${memory}`)
    }
    await reflect()
    await reflect()
    await a.send('1')
    await a.send('2')
    expect(llm.prompts.map(([first]) => first?.content)).toEqual(['told: likes tea', '1'])
    expect(await a.memory()).toBe('likes tea')
  })

  it('gets the sessions that a model makes by its tool', async () => {
    const storage = make()
    const llm = recording()
    const root = await createSession({ storage, llm, id: 'root', parentId: null, systemPrompt: 'P' })
    const make2 = createSessionTool(() => root)
    root.setTools([make2])
    await root.send('go')
    expect(llm.options[0]?.tools?.[0]).toMatchObject({ name: 'stello_create_session', inputSchema: { type: 'object', required: ['label'] } })
    const { output } = await make2.execute({ label: 'Research', prompt: 'Let us begin.' })
    const { sessionId } = output as { sessionId: string }
    expect(output).toEqual({ sessionId: expect.any(String), label: 'Research' })
    expect(await storage.getChildren('root')).toEqual([{ id: sessionId, parentId: 'root', label: 'Research' }])
    expect(await storage.getSystemPrompt(sessionId)).toBe('P')
    expect(await storage.listRecords(sessionId)).toMatchObject([{ role: 'assistant', content: 'Let us begin.' }])
  })
})

describe('a parent without a node', () => {
  it('becomes a root where the storage can tell', async () => {
    const storage = new InMemoryStorageAdapter()
    const parent = await createSession({ storage, id: 'p', label: 'P' })
    await forkSession(parent, { label: 'c', id: 'c' })
    expect(await storage.getChildren(null)).toEqual([{ id: 'p', parentId: null, label: 'P' }])
    expect(await storage.getNode('c')).toEqual({ id: 'c', parentId: 'p', label: 'c' })
    await storage.putNode({ id: 'p', parentId: 'above', label: 'moved' })
    await forkSession(parent, { label: 'd' })
    expect(await storage.getNode('p')).toEqual({ id: 'p', parentId: 'above', label: 'moved' })
    const getNode = vi.fn(async () => undefined)
    const own = Object.assign(new MapStorage(), { getNode })
    await forkSession(await createSession({ storage: own, id: 'q', label: 'Q' }), { label: 'c' })
    expect(getNode).toHaveBeenCalledWith('q')
    expect(own.nodes.get('q')).toEqual({ id: 'q', parentId: null, label: 'Q' })
  })

  it('is left alone where the storage cannot', async () => {
    const storage = new MapStorage()
    await forkSession(await createSession({ storage, id: 'p' }), { label: 'c', id: 'c' })
    expect([...storage.nodes.keys()]).toEqual(['c'])
  })
})

describe('a storage written in JavaScript', () => {
  it('gets the node through its transaction where that has putNode', async () => {
    const storage = new MapStorage()
    const inside: unknown[] = []
    storage.transaction = async (fn) => fn(Object.assign(Object.create(storage) as MapStorage, { putNode: async (node: never) => void inside.push(node) }))
    await createSession({ storage, id: 'a', parentId: null })
    expect(inside).toEqual([{ id: 'a', parentId: null, label: 'New Session' }])
    expect(storage.nodes.size).toBe(0)
  })

  it('else by its own putNode, right after the session', async () => {
    const storage = new MapStorage()
    const calls: string[] = []
    const spy = (name: 'putNode' | 'putSession') => vi.spyOn(storage, name).mockImplementation(async () => void calls.push(name))
    spy('putNode')
    spy('putSession')
    storage.transaction = async (fn) => fn(Object.assign(Object.create(storage) as MapStorage, { putNode: undefined }))
    await createSession({ storage, id: 'a', parentId: null })
    expect(calls).toEqual(['putSession', 'putNode'])
  })

  it('without putNode is refused where a node is asked for, and forks from tools without one', async () => {
    const storage = new MapStorage()
    Object.assign(storage, { putNode: undefined })
    await expect(createSession({ storage, parentId: null })).rejects.toThrow(new TypeError('options.parentId needs a storage with putNode(), got one without'))
    expect(storage.sessions.size).toBe(0)
    const parent = await createSession({ storage: storage as SessionStorage })
    await expect(forkSession(parent, { label: 'c' })).rejects.toThrow(new TypeError('forkSession() needs a storage with putNode(), got one without'))
    expect(storage.sessions.size).toBe(1)
    await createSessionTool(() => parent).execute({ label: 'c' })
    expect(storage.sessions.size).toBe(2)
  })

  it.each<[string, (storage: MapStorage) => void]>([
    ['a transaction that rolls back', () => {}],
    ['a transaction that only calls its function', (storage) => void (storage.transaction = (fn) => fn(storage))],
    ['a transaction without putNode', (storage) => void (storage.transaction = (fn) => fn(Object.assign(Object.create(storage) as MapStorage, { putNode: undefined })))],
    ['no transaction', (storage) => void Object.assign(storage, { transaction: undefined })],
  ])('with %s keeps no node of a forkSession that failed', async (_name, prepare) => {
    for (const method of ['putSession', 'putSystemPrompt', 'putNode'] as const) {
      const storage = new MapStorage()
      prepare(storage)
      const parent = await createSession({ storage, id: 'p', parentId: null, systemPrompt: 'P' })
      const error = new Error('mine')
      storage[method] = () => Promise.reject(error)
      await expect(forkSession(parent, { label: 'c', id: 'c' })).rejects.toBe(error)
      expect([...storage.nodes.keys()]).toEqual(['p'])
    }
  })

  it('keeps a node that was there before a forkSession that failed', async () => {
    const storage = new MapStorage()
    Object.assign(storage, { transaction: undefined, getNode: async (id: string) => storage.nodes.get(id) })
    const parent = await createSession({ storage, id: 'p', parentId: null })
    await storage.putNode({ id: 'c', parentId: 'p', label: 'mine' })
    storage.putSession = () => Promise.reject(new Error('full'))
    await expect(forkSession(parent, { label: 'c', id: 'c' })).rejects.toThrow('full')
    expect(storage.nodes.has('c')).toBe(true)
  })

  it('without listSessions fails at listSessionDigests, by name', async () => {
    const storage = new MapStorage()
    Object.assign(storage, { listSessions: undefined })
    await expect(listSessionDigests(storage)).rejects.toThrow(new TypeError('storage.listSessions must be a function, got undefined'))
  })

  it('that ignores the filter still gives the digests asked for', async () => {
    const storage = new MapStorage()
    const all = await Promise.all(['a', 'b'].map((id) => createSession({ storage, id })))
    await all[0]?.archive()
    storage.listSessions = async () => [...storage.sessions.values()]
    expect((await listSessionDigests(storage, { status: 'active' })).map(({ id }) => id)).toEqual(['b'])
  })
})

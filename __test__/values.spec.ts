import { AsyncLocalStorage } from 'node:async_hooks'
import { createMainSession, createSession, forkSession, loadSession, type LLMResult, type Message, type MainStorage, type ToolCall } from '@stello-ai/session'
import { describe, expect, it } from 'vitest'
import { recording } from './support/adapters.js'
import { allStorages } from './support/storages.js'

/** JSON text that a parser easily mangles: key order, numbers, keys that mean something to objects. */
const tricky = [
  '{"b":1,"a":2,"é":3}',
  '{"__proto__":{"polluted":true},"constructor":1,"toString":"x"}',
  '{"big":9223372036854775807,"small":-0.1e-7,"huge":1e+300,"int":9007199254740993}',
  '{"null":null,"empty":{},"list":[[],[null]],"text":""}',
  '{"nul":"a\\u0000b","lone":"\\ud83d","pair":"🎉","sep":"\\u2028\\u2029","slash":"</script>"}',
  '{"":{"":{"":0}}}',
]
const texts = ['', ' ', 'a\0b', '\ud83d lone', '🎉 日本語 Grüße', '"\\"\n\r\t\u2028', '<session_identity>', 'x'.repeat(1_000_000), '\u{10ffff}\ufeff']

/** As JavaScript's JSON carries it, key order included. */
const carried = (value: unknown) => JSON.stringify(value)

describe.each(allStorages)('values through $name', ({ make }) => {
  it.each(tricky)('metadata %s', async (json) => {
    const storage = make()
    const metadata = JSON.parse(json) as Record<string, unknown>
    const session = await createSession({ storage, metadata })
    expect(carried(session.meta.metadata)).toBe(carried(metadata))
    await session.updateMeta({ label: 'touched' })
    expect(carried((await storage.getSession(session.meta.id))?.metadata)).toBe(carried(metadata))
    await session.updateMeta({ metadata: { again: metadata } })
    expect(carried((await loadSession(session.meta.id, { storage }))?.meta.metadata)).toBe(carried({ again: metadata }))
    const child = await session.fork({ label: 'c', metadata })
    expect(carried(child.meta.metadata)).toBe(carried(metadata))
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  it.each(tricky)('tool input %s', async (json) => {
    const storage = make()
    const input = JSON.parse(json) as Record<string, unknown>
    const answers: LLMResult[] = [{ content: null, toolCalls: [{ id: 'a', name: 'f', input }] }, { content: 'done' }]
    const llm = recording(() => answers.shift() as LLMResult)
    const session = await createSession({ storage, llm, label: '' })
    const { toolCalls } = await session.send('go')
    expect(carried(toolCalls?.[0]?.input)).toBe(carried(input))
    expect(carried((await session.messages())[1]?.toolCalls?.[0]?.input)).toBe(carried(input))
    await session.send({ toolResults: [{ toolCallId: 'a', success: true, data: input }] })
    expect(carried(llm.prompts[1]?.[1]?.toolCalls?.[0]?.input)).toBe(carried(input))
    expect(llm.prompts[1]?.[2]?.content).toBe(carried(input))
  })

  it.each(tricky)('a global %s', async (json) => {
    const storage = make()
    await storage.putGlobal('__proto__', JSON.parse(json))
    expect(carried(await storage.getGlobal('__proto__'))).toBe(carried(JSON.parse(json)))
    expect(await storage.getGlobal('nothing')).toBeNull()
    for (const value of [null, 0, '', false, [], 'text']) {
      await storage.putGlobal('k', value)
      expect(await storage.getGlobal('k')).toEqual(value)
    }
  })

  it.each(tricky)('an unknown message property %s, which an adapter sees too', async (json) => {
    const storage = make()
    const llm = recording()
    const session = await createSession({ storage, llm, label: '' })
    const custom: unknown = JSON.parse(json)
    await storage.appendRecord(session.meta.id, { role: 'user', content: 'q', custom } as Message)
    await session.send('go')
    const [stored] = (await session.messages()) as Array<Message & { custom?: unknown }>
    expect(carried(stored)).toBe(carried({ role: 'user', content: 'q', custom }))
    expect(carried(llm.prompts[0]?.[0])).toBe(carried(stored))
    const child = await session.fork({ label: 'c', context: 'inherit' })
    expect(carried((await child.messages())[0])).toBe(carried(stored))
  })

  it('text of every kind, in every slot', async () => {
    for (const value of texts) {
      const storage = make()
      const llm = recording(() => ({ content: value, reasoningContent: value }))
      const session = await createSession({ storage, llm, id: `id ${value.slice(0, 9)}`, label: value })
      expect(session.meta).toMatchObject({ id: `id ${value.slice(0, 9)}`, label: value })
      await session.setSystemPrompt(value)
      await session.setInsight(value)
      await session.consolidate(async () => value)
      expect([await session.systemPrompt(), await session.insight(), await session.memory()]).toEqual([value, value, value])
      expect((await session.send(value)).content).toBe(value)
      expect(llm.prompts[0]?.at(-1)?.content).toBe(value)
      expect(await session.messages()).toMatchObject([{ content: value }, { content: value }])
      expect((await loadSession(session.meta.id, { storage }))?.meta).toEqual(session.meta)
      expect(await storage.listSessions()).toHaveLength(1)
    }
  })

  it('ids that mean something to objects or to databases', async () => {
    const storage = make()
    const ids = ['__proto__', 'constructor', "'; drop table sessions; --", '%', '_', '', ' ', '日本', 'A', 'a']
    for (const id of ids) await (await createSession({ storage, llm: recording(() => ({ content: id })), id, parentId: null })).send(id)
    for (const id of ids) {
      expect((await storage.listRecords(id)).map(({ content }) => content)).toEqual([id, id])
      expect((await loadSession(id, { storage }))?.meta.id).toBe(id)
    }
    expect((await storage.listSessions()).map(({ id }) => id)).toEqual(ids)
    expect((await storage.getChildren(null as never)).map(({ id }) => id)).toEqual(ids)
  })

  it('undefined properties are dropped, null and absent stay distinct', async () => {
    const storage = make()
    const session = await createSession({ storage, metadata: { gone: undefined, kept: null, list: [undefined, null], when: new Date(0), n: Number.NaN } })
    expect(session.meta.metadata).toStrictEqual({ kept: null, list: [null, null], when: '1970-01-01T00:00:00.000Z', n: null })
    await storage.appendRecord(session.meta.id, { role: 'user', content: 'x', a: null } as Message)
    const [record] = await session.messages()
    expect(Object.keys(record as Message)).toEqual(['role', 'content', 'a'])
    session.setLLM(recording(() => ({ content: null, toolCalls: undefined, usage: undefined, reasoningContent: undefined }) as never))
    expect(Object.keys(await session.send('q'))).toEqual(['content'])
    const assistant = (await session.messages()).at(-1)
    expect(Object.keys(assistant as Message).toSorted()).toEqual(['content', 'role', 'timestamp'])
  })

  it('usage and finish reason as the adapter told them', async () => {
    const usage = { promptTokens: 4_294_967_296, completionTokens: 0 }
    const session = await createSession({ storage: make(), llm: recording(() => ({ content: 'x', usage, finishReason: 'custom reason' })) })
    expect(await session.send('q')).toStrictEqual({ content: 'x', usage, finishReason: 'custom reason' })
    session.setLLM(recording(() => ({ content: 'x', usage: { ...usage, cachedPromptTokens: 3 } })))
    expect(await session.send('q')).toStrictEqual({ content: 'x', usage: { ...usage, cachedPromptTokens: 3 } })
  })

  it('tool calls with an input that is missing are calls without arguments', async () => {
    const toolCalls = [{ id: 'a', name: 'f' }, { id: 'b', name: 'g', input: null }] as unknown as ToolCall[]
    const session = await createSession({ storage: make(), llm: recording(() => ({ content: null, toolCalls })) })
    expect((await session.send('q')).toolCalls).toEqual([{ id: 'a', name: 'f', input: {} }, { id: 'b', name: 'g', input: {} }])
  })

  it('what JSON cannot carry is refused by name, and nothing is stored', async () => {
    const storage = make()
    const circular: Record<string, unknown> = {}
    circular.self = circular
    for (const bad of [{ n: 1n }, circular]) {
      await expect(createSession({ storage, metadata: bad })).rejects.toThrow(/options\.metadata cannot be written as JSON/)
      const session = await createSession({ storage, id: 's', llm: recording(() => ({ content: null, toolCalls: [{ id: 'a', name: 'f', input: bad }] })) })
      await expect(session.updateMeta({ metadata: bad })).rejects.toThrow(/updates\.metadata cannot be written as JSON/)
      await expect(session.send({ toolResults: [{ toolCallId: 'a', success: true, data: bad }] })).rejects.toThrow(/content cannot be written as JSON/)
      await expect(session.send('q')).rejects.toThrow(TypeError)
      expect(await session.messages()).toEqual([])
    }
    expect(await storage.listSessions()).toHaveLength(1)
  })

  it('callbacks of every operation run in the async context of its caller', async () => {
    const storage: MainStorage = make()
    const context = new AsyncLocalStorage<string>()
    const seen: Array<string | undefined> = []
    const note = () => seen.push(context.getStore())
    const main = await createMainSession({ storage })
    const session = await createSession({ storage, parentId: null })
    const { putSession } = storage
    storage.putSession = (meta) => {
      note()
      return putSession.call(storage, meta)
    }
    await context.run('consolidate', () => session.consolidate(async () => (note(), 'm')))
    await context.run('integrate', () => main.integrate(async () => (note(), { synthesis: 's', insights: [] })))
    await context.run('fork', () => session.fork({ label: 'c', context: async () => (note(), []) }))
    await context.run('forkSession', () => forkSession(session, { label: 'c' }))
    await context.run('updateMeta', () => session.updateMeta({ label: 'x' }))
    expect(seen).toEqual(['consolidate', 'integrate', 'fork', 'fork', 'forkSession', 'updateMeta'])
  })
})

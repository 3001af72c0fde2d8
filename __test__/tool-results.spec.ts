import { ToolResultsError, createMainSession, createSession, type Message, type SendResult, type Session, type ToolResult } from '@stello-ai/session'
import { describe, expect, it } from 'vitest'
import { deferred, recording } from './support/adapters.js'
import { CachingMapStorage } from './support/caching-map-storage.js'
import { names, pairs, recordingCompressor, store } from './support/long-history.js'
import { contents, storages } from './support/storages.js'

const call = (id: string, name = 'look') => ({ id, name, input: { q: id } })
const result = (toolCallId: string | null, more: Partial<ToolResult> = {}): ToolResult => ({
  toolCallId,
  toolName: 'look',
  args: {},
  success: true,
  data: `found ${toolCallId}`,
  error: null,
  ...more,
})
/** The string that `@stello-ai/core` sends. */
const asText = (...toolResults: unknown[]) => JSON.stringify({ toolResults })

const every = [...storages, { name: 'a JavaScript storage that keeps summaries', make: () => new CachingMapStorage() }]

describe.each(every)('tool results on $name', ({ make }) => {
  /** A session whose model has called `ids` and waits for the answers. */
  async function called(...calls: Array<ReturnType<typeof call>>) {
    const storage = make()
    let toolCalls: SendResult['toolCalls'] = calls
    const llm = recording(() => {
      const answer = { content: toolCalls === undefined ? 'done' : '', toolCalls }
      toolCalls = undefined
      return answer
    })
    const session = await createSession({ storage, llm, label: 'L', systemPrompt: 'P' })
    await session.send('go')
    return { storage, llm, session, id: session.meta.id }
  }

  /** Fails, sends nothing and stores nothing. */
  async function refuses({ session, storage, llm, id }: Awaited<ReturnType<typeof called>>, input: Parameters<Session['send']>[0], ...told: string[]) {
    const before = await contents(storage, id)
    const prompts = llm.prompts.length
    for (const turn of [() => session.send(input), () => session.stream(input).result]) {
      const failure = turn()
      await expect(failure).rejects.toThrow(ToolResultsError)
      for (const word of told) await expect(failure).rejects.toThrow(word)
    }
    expect(llm.prompts).toHaveLength(prompts)
    expect(await contents(storage, id)).toEqual(before)
  }

  const tools = async (session: Session) => (await session.messages({ role: 'tool' })).map(({ timestamp: _, ...message }) => message)

  describe.each([
    { form: 'as an object', wrap: (...toolResults: ToolResult[]) => ({ toolResults }) },
    { form: 'as a string', wrap: (...toolResults: ToolResult[]) => asText(...toolResults) },
  ])('$form', ({ wrap }) => {
    it('become tool messages, in the given order, then the answer is stored', async () => {
      const { session, llm } = await called(call('a'), call('b'))
      await expect(session.send(wrap(result('b'), result('a')))).resolves.toMatchObject({ content: 'done' })
      const answered = [
        { role: 'tool', content: 'found b', toolCallId: 'b' },
        { role: 'tool', content: 'found a', toolCallId: 'a' },
      ]
      expect(await tools(session)).toEqual(answered)
      expect((await session.messages()).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant'])
      expect(llm.prompts[1].slice(-2)).toEqual((await session.messages()).slice(2, 4))
    })

    it('are sent in the same context as any turn', async () => {
      const { session, storage, llm, id } = await called(call('a'))
      await storage.putMemory(id, 'MEMORY')
      await session.setInsight('I')
      await session.send(wrap(result('a')))
      expect(llm.prompts[1].map(({ role, content }) => [role, content])).toEqual([
        ['system', 'P'],
        ['system', '<session_identity>\nL\n</session_identity>'],
        ['system', 'I'],
        ['user', 'go'],
        ['assistant', ''],
        ['tool', 'found a'],
      ])
      expect(await session.insight()).toBeNull()
    })

    it('are sent by streams and main sessions too', async () => {
      const storage = make()
      const llm = recording((messages) => (messages.at(-1)?.role === 'tool' ? { content: 'done' } : { content: '', toolCalls: [call('a')] }))
      const main = await createMainSession({ storage, llm })
      await main.stream('go').result
      await expect(main.stream(wrap(result('a'))).result).resolves.toMatchObject({ content: 'done' })
    })

    it.each<[string, Partial<ToolResult>, string, boolean]>([
      ['a string as it is', { data: ' {"a": 1}\n' }, ' {"a": 1}\n', false],
      ['an empty string', { data: '' }, '', false],
      ['null', { data: null }, '', false],
      ['an object as JSON', { data: { b: [1, null, '日本'], a: { c: true } } }, '{"b":[1,null,"日本"],"a":{"c":true}}', false],
      ['false', { data: false }, 'false', false],
      ['zero', { data: 0 }, '0', false],
      ['an array', { data: [] }, '[]', false],
      ['an error', { success: false, data: 'ignored', error: 'no such city' }, 'no such city', true],
      ['an empty error', { success: false, error: '' }, '', true],
      ['a failure without an error', { success: false, error: null }, 'Unknown error', true],
      ['an error of what succeeded', { success: true, data: 'fine', error: 'ignored' }, 'fine', false],
    ])('take their content from %s', async (_name, more, content, isError) => {
      const { session } = await called(call('a'))
      await session.send(wrap(result('a', more)))
      expect(await tools(session)).toEqual([{ role: 'tool', content, toolCallId: 'a', ...(isError && { isError: true }) }])
    })

    it('without an id answer calls of their tool, in order, that no id names', async () => {
      const { session } = await called(call('a', 'f'), call('b', 'g'), call('c', 'f'), call('d', 'f'))
      await session.send(
        wrap(
          result(null, { toolName: 'f', data: 1 }),
          result('a', { data: 2 }),
          result(null, { toolName: 'g', data: 3 }),
          result(null, { toolName: 'f', data: 4 }),
        ),
      )
      expect((await tools(session)).map(({ toolCallId, content }) => [toolCallId, content])).toEqual([['c', '1'], ['a', '2'], ['b', '3'], ['d', '4']])
    })

    it('that name unknown calls besides the right ones, name one twice or leave some out are refused', async () => {
      const both = await called(call('a'), call('b'))
      await refuses(both, wrap(result('a'), result('b'), result('nobody')), 'nobody')
      await refuses(both, wrap(result('a'), result('a'), result('b')), 'a')
      await refuses(both, wrap(result('b')), 'a')
      await refuses(both, wrap(result('b'), result(null, { toolName: 'other' })), 'other')
      await both.session.send(wrap(result('a'), result('b')))
      expect(await tools(both.session)).toHaveLength(2)
    })

    it('of calls that were answered are refused', async () => {
      const state = await called(call('a'))
      await state.session.send(wrap(result('a')))
      await refuses(state, wrap(result('a')), 'a')
      expect(await tools(state.session)).toHaveLength(1)
    })

    it('of calls that were superseded are refused', async () => {
      const state = await called(call('a'))
      await state.session.send('never mind')
      await refuses(state, wrap(result('a')), 'a')
      expect(await tools(state.session)).toEqual([])
    })

    it('of calls that a summary covers are refused', async () => {
      const storage = make()
      const llm = recording(() => ({ content: 'ok' }), 2_000)
      const { compressFn, inputs } = recordingCompressor()
      const session = await createSession({ storage, llm, label: '', compressFn })
      const group: Message[] = [
        { role: 'assistant', content: '', toolCalls: [call('old')] },
        { role: 'tool', content: 'r', toolCallId: 'old' },
      ]
      await store(storage, session.meta.id, [...group, ...pairs(9)])
      await session.send('now')
      expect(inputs[0].slice(0, 2)).toEqual(group)
      await refuses({ session, storage, llm, id: session.meta.id }, wrap(result('old')), 'old')
      await session.send('then')
      expect(names(llm.prompts[1])[0]).toBe(`SUMMARY ${inputs.length}`)
    })

    it('answer only what is still unanswered where other hands answered some', async () => {
      const { session, storage, id } = await called(call('a'), call('b'))
      await storage.appendRecord(id, { role: 'tool', content: 'by hand', toolCallId: 'a' })
      await session.send(wrap(result('b')))
      expect((await tools(session)).map(({ content }) => content)).toEqual(['by hand', 'found b'])
    })

    it('sent twice at once are taken once', async () => {
      const { session } = await called(call('a'))
      const [first, second] = await Promise.allSettled([session.send(wrap(result('a'))), session.send(wrap(result('a')))])
      expect(first.status).toBe('fulfilled')
      expect(second).toMatchObject({ status: 'rejected', reason: expect.any(ToolResultsError) })
      expect(await tools(session)).toHaveLength(1)
    })

    it('of a turn that failed or was aborted can be sent again', async () => {
      const { session, storage, id } = await called(call('a'))
      const before = await contents(storage, id)
      const begun = deferred()
      session.setLLM(recording(() => Promise.reject(new Error('overloaded'))))
      await expect(session.send(wrap(result('a')))).rejects.toThrow('overloaded')
      session.setLLM(
        recording(() => {
          begun.resolve()
          return new Promise<never>(() => {})
        }),
      )
      const controller = new AbortController()
      const turn = session.send(wrap(result('a')), { signal: controller.signal })
      await begun.promise
      controller.abort()
      await expect(turn).rejects.toBe(controller.signal.reason)
      expect(await contents(storage, id)).toEqual(before)
      session.setLLM(recording())
      await session.send(wrap(result('a')))
      expect(await tools(session)).toHaveLength(1)
    })
  })

  describe('as a string', () => {
    it('are read leniently', async () => {
      const { session } = await called(call('a', 'f'), call('b', 'g'), call('c', 'h'))
      await session.send(` \n${asText({ toolCallId: 'a', success: 1 }, { toolCallId: 7, toolName: 'g', success: 'yes', data: 'x' }, { toolName: 'h' })} `)
      expect((await tools(session)).map(({ toolCallId, content, isError }) => [toolCallId, content, isError])).toEqual([
        ['a', '', undefined],
        ['b', 'x', undefined],
        ['c', 'Unknown error', true],
      ])
    })

    it('that answer no stored call are what the user typed', async () => {
      for (const text of [
        asText(),
        asText(result('nobody')),
        asText(result(null, { toolName: 'unheard of' })),
        asText({}),
        asText('text'),
        asText(null),
        '{"toolResults":{}}',
        '{"toolResults":[',
        `please read ${asText(result('a'))}`,
        `${asText(result('a'))} is what I got`,
        JSON.stringify([{ toolResults: [result('a')] }]),
        JSON.stringify({ nested: { toolResults: [result('a')] } }),
        JSON.stringify(asText(result('a'))),
      ]) {
        const { session, llm } = await called(call('a'))
        await session.send(text)
        expect((await session.messages({ role: 'user' })).at(-1)?.content, text).toBe(text)
        expect(llm.prompts[1].at(-1), text).toMatchObject({ role: 'user', content: text })
        expect(await tools(session), text).toEqual([])
      }
    })

    it('cannot answer what was never called', async () => {
      const { session, llm } = await called()
      const text = asText(result('a'))
      await session.send(text)
      expect(llm.prompts[1].at(-1)).toMatchObject({ role: 'user', content: text })
    })

    it('that name no stored call are what the user typed where a summary covers the oldest records', async () => {
      const storage = make()
      const llm = recording(() => ({ content: 'ok' }), 2_000)
      const { compressFn } = recordingCompressor()
      const session = await createSession({ storage, llm, label: '', compressFn })
      await store(storage, session.meta.id, pairs(9))
      await session.send('now')
      const text = asText(result('nobody'))
      await session.send(text)
      expect(names(llm.prompts[1])[0]).toBe('SUMMARY 1')
      expect(llm.prompts[1].at(-1)).toMatchObject({ role: 'user', content: text })
    })
  })

  describe('as an object', () => {
    it('are results always', async () => {
      const state = await called(call('a'))
      await refuses(state, { toolResults: [result('nobody')] }, 'nobody', 'a')
      await state.session.send({ toolResults: [result('a')] })
      await refuses(state, { toolResults: [result('nobody')] }, 'nobody')
      expect(await tools(state.session)).toHaveLength(1)
    })

    it.each([[[]], ['text'], [undefined], [null], [[null]], [['text']], [[[]]]])('of the wrong shape are a TypeError: %j', async (toolResults) => {
      const { session, storage, llm, id } = await called(call('a'))
      const before = await contents(storage, id)
      const input = { toolResults } as unknown as { toolResults: ToolResult[] }
      await expect(session.send(input)).rejects.toThrow(TypeError)
      await expect(session.send(input)).rejects.toThrow('toolResults')
      expect(llm.prompts).toHaveLength(1)
      expect(await contents(storage, id)).toEqual(before)
    })

    it('may hold an undefined data', async () => {
      const { session } = await called(call('a'))
      await session.send({ toolResults: [result('a', { data: undefined })] })
      expect((await tools(session))[0].content).toBe('')
    })
  })

  it('list at most so many ids in an error, whatever was sent', async () => {
    const many = Array.from({ length: 5_000 }, (_, n) => result(`unknown-${n}`))
    const { session } = await called(call('a'))
    const failure = await session.send({ toolResults: many }).catch((error: Error) => error)
    expect(failure).toBeInstanceOf(ToolResultsError)
    expect((failure as Error).message.length).toBeLessThan(2_000)
  })
})

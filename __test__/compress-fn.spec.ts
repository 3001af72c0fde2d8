import { createSession, loadSession, type CompressFn, type CreateSessionOptions, type LLMAdapter, type Message, type Session } from '@stello-ai/session'
import { describe, expect, it, vi } from 'vitest'
import { recording } from './support/adapters.js'
import { storages } from './support/storages.js'

const WINDOW = 4_000
const texts = (messages: Message[] = []) => messages.map(({ content }) => content)
const summaries = () => {
  let count = 0
  return vi.fn<CompressFn>(async (_messages, _options) => `SUMMARY ${++count}`)
}

describe.each(storages)('compression on $name', ({ make }) => {
  async function start(options: Partial<CreateSessionOptions> = {}) {
    const storage = make()
    const llm = recording(() => ({ content: 'fine' }), WINDOW)
    const session = await createSession({ storage, llm, label: '', systemPrompt: 'PROMPT', ...options })
    return { storage, llm, session, id: session.meta.id }
  }
  /** A message of about 200 tokens, told apart by its number. */
  const paragraph = (n: number) => `${n}: ${'some more words '.repeat(50)}`
  async function talk(session: Session, turns: number, from = 0) {
    for (let n = 0; n < turns; n++) await session.send(paragraph(from + n))
  }

  it('does not happen while the prompt is below 80 % of the window', async () => {
    const compressFn = summaries()
    const { session } = await start({ compressFn })
    await talk(session, 10)
    expect(compressFn).not.toHaveBeenCalled()
  })

  it('puts one summary between the fixed messages and the newest history, and calls compressFn once for many turns', async () => {
    const compressFn = summaries()
    const { session, llm } = await start({ compressFn })
    await talk(session, 24)
    expect(compressFn).toHaveBeenCalledTimes(1)
    const [first] = compressFn.mock.calls
    const compressed = first?.[0] ?? []
    const prompts = llm.prompts.filter((prompt) => texts(prompt).includes('SUMMARY 1'))
    expect(prompts.length).toBeGreaterThan(4)
    const records = await session.messages()
    for (const prompt of prompts) {
      expect(texts(prompt).slice(0, 2)).toEqual(['PROMPT', 'SUMMARY 1'])
      expect(prompt[1]).toEqual({ role: 'system', content: 'SUMMARY 1' })
      const shown = texts(prompt).slice(2)
      expect([...texts(compressed), ...shown]).toEqual(texts(records).slice(0, compressed.length + shown.length))
    }
    expect(records).toHaveLength(48)
  })

  it('hands the next compression the summary and what leaves now, not the whole history again', async () => {
    const compressFn = summaries()
    const { session } = await start({ compressFn })
    await talk(session, 40)
    expect(compressFn.mock.calls.length).toBeGreaterThan(1)
    const [[first], [second]] = compressFn.mock.calls as [[Message[]], [Message[]]]
    expect(second[0]).toEqual({ role: 'system', content: 'SUMMARY 1' })
    const all = texts(await session.messages())
    expect([...texts(first), ...texts(second.slice(1))]).toEqual(all.slice(0, first.length + second.length - 1))
  })

  it('is done by the adapter of the session without a compressFn, whose usage is not that of the turn', async () => {
    const usage = { promptTokens: 3_000, completionTokens: 1 }
    const llm = recording((messages) => (JSON.stringify(messages).includes('压缩') ? { content: '<think>hm</think>BY THE MODEL', usage: { promptTokens: 9, completionTokens: 9 } } : { content: 'fine', usage }), WINDOW)
    const { session } = await start({ llm })
    await session.send('hello')
    let result = await session.send(paragraph(0))
    for (let n = 1; n < 24; n++) result = await session.send(paragraph(n))
    expect(texts(llm.prompts.at(-1))[1]).toBe('BY THE MODEL')
    expect(result.usage).toEqual(usage)
  })

  it.each<[string, CompressFn, unknown]>([
    ['an error, which comes as the same object', () => Promise.reject(RangeError.prototype), RangeError.prototype],
    ['an empty text', async () => '', expect.any(TypeError)],
    ['no text', async () => undefined as never, expect.any(TypeError)],
  ])('fails the turn with %s, and nothing is lost', async (_name, compressFn, reason) => {
    const { session, storage, id } = await start()
    for (let n = 0; n < 24; n++) await storage.appendRecord(id, { role: 'user', content: paragraph(n) })
    const broken = (await loadSession(id, { storage, llm: recording(undefined, WINDOW), compressFn })) as Session
    await storage.putInsight(id, 'I')
    await expect(broken.send('hi')).rejects.toEqual(reason)
    expect(await session.messages()).toHaveLength(24)
    expect(await session.insight()).toBe('I')
  })

  it('hands compressFn the signal, and ends at once when it is aborted', async () => {
    const controller = new AbortController()
    const seen: unknown[] = []
    const compressFn: CompressFn = (_messages, options) => {
      seen.push(options?.signal)
      controller.abort('enough')
      return new Promise(() => {})
    }
    const { session, storage, id, llm } = await start({ compressFn })
    for (let n = 0; n < 24; n++) await storage.appendRecord(id, { role: 'user', content: paragraph(n) })
    await expect(session.send('hi', { signal: controller.signal })).rejects.toBe('enough')
    expect(seen).toEqual([controller.signal])
    expect(llm.prompts).toEqual([])
  })

  it('never drops what it was told: the memory does not stand in for a summary', async () => {
    const compressFn = summaries()
    const { session, llm } = await start({ compressFn })
    await session.consolidate(async () => 'MEMORY')
    await talk(session, 24)
    expect(JSON.stringify(llm.prompts)).not.toContain('MEMORY')
    expect(compressFn).toHaveBeenCalled()
  })

  it('starts anew where the records that a summary covers were trimmed', async () => {
    const compressFn = summaries()
    const { session, llm } = await start({ compressFn })
    await talk(session, 24)
    await session.trimRecords(4)
    await session.send('hi')
    expect(texts(llm.prompts.at(-1))).toEqual(['PROMPT', paragraph(22), 'fine', paragraph(23), 'fine', 'hi'])
  })
})

describe.each(storages.slice(1))('compression on $name', ({ make }) => {
  it('is kept, so that a session that is loaded again does not summarise again', async () => {
    const storage = make()
    const llm: LLMAdapter = recording(() => ({ content: 'fine' }), WINDOW)
    const compressFn = summaries()
    const session = await createSession({ storage, llm, label: '', compressFn })
    for (let n = 0; n < 24; n++) await session.send(`${n}: ${'some more words '.repeat(50)}`)
    expect(compressFn).toHaveBeenCalledTimes(1)
    const later = recording(() => ({ content: 'fine' }), WINDOW)
    const loaded = (await loadSession(session.meta.id, { storage, llm: later, compressFn })) as Session
    await loaded.send('hi')
    expect(texts(later.prompts[0])[0]).toBe('SUMMARY 1')
    expect(compressFn).toHaveBeenCalledTimes(1)
  })
})

import { InMemoryStorageAdapter, LLMError, createSession, type StreamResult } from '@stello-ai/session'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { deferred, recording } from './support/adapters.js'
import { USAGE, served, type Model, type Reply } from './support/model-server.js'

let unhandled: unknown[] = []
const note = (reason: unknown) => unhandled.push(reason)
let model: Model | undefined
beforeEach(() => {
  unhandled = []
  process.on('unhandledRejection', note)
})
afterEach(async () => {
  await model?.stop()
  await new Promise((resolve) => setTimeout(resolve, 5))
  process.off('unhandledRejection', note)
  // oxlint-disable-next-line vitest/no-standalone-expect -- holds for every test of this file
  expect(unhandled).toEqual([])
})

async function collect(stream: AsyncIterable<string>, into: string[] = []) {
  for await (const piece of stream) into.push(piece)
  return into
}

describe.each(['openai', 'anthropic'] as const)('a stream of the native adapter for %s', (protocol) => {
  async function start(...replies: Array<Reply | Promise<Reply>>) {
    model = await served(protocol, () => replies.shift() ?? { pieces: ['next'] }, 100_000)
    const session = await createSession({ storage: new InMemoryStorageAdapter(), llm: model.llm })
    const stored = async () => (await session.messages()).map(({ content }) => content)
    return { session, stored }
  }
  const abc: Reply = { pieces: ['a', 'b', '', 'c 日本 🎉'] }

  it('gives its pieces to a loop alone', async () => {
    const { session, stored } = await start(abc)
    expect((await collect(session.stream('q'))).join('')).toBe('abc 日本 🎉')
    expect(await stored()).toEqual(['q', 'abc 日本 🎉'])
  })

  it('gives the whole to who uses only result', async () => {
    const { session, stored } = await start(abc)
    expect(await session.stream('q').result).toEqual({ content: 'abc 日本 🎉', usage: USAGE, finishReason: 'stop' })
    expect(await stored()).toEqual(['q', 'abc 日本 🎉'])
  })

  it('gives both', async () => {
    const { session } = await start(abc)
    const stream = session.stream('q')
    const [pieces, result] = await Promise.all([collect(stream), stream.result])
    expect(pieces.join('')).toBe(result.content)
    expect(pieces).not.toContain('')
  })

  it('runs when neither is used', async () => {
    const { session, stored } = await start(abc)
    session.stream('q')
    await session.send('then')
    expect(await stored()).toEqual(['q', 'abc 日本 🎉', 'then', 'next'])
  })

  it('runs on when its loop is left early, and a second loop goes on where the first stopped', async () => {
    const { session, stored } = await start(abc)
    const stream = session.stream('q')
    const pieces: string[] = []
    for await (const piece of stream) {
      pieces.push(piece)
      break
    }
    await collect(stream, pieces)
    expect(pieces.join('')).toBe('abc 日本 🎉')
    expect(await collect(stream)).toEqual([])
    expect(await stored()).toEqual(['q', 'abc 日本 🎉'])
  })

  it('shares its pieces among two loops at once, each once and in order', async () => {
    const { session } = await start({ pieces: Array.from({ length: 200 }, (_, n) => `${n} `) })
    const stream = session.stream('q')
    const all: string[] = []
    await Promise.all([collect(stream, all), collect(stream, all)])
    expect(all.join('')).toBe(Array.from({ length: 200 }, (_, n) => `${n} `).join(''))
  })

  it('gives pieces while the answer is still coming', async () => {
    const { session, stored } = await start({ pieces: ['a'], silent: true })
    const controller = new AbortController()
    const stream = session.stream('q', { signal: controller.signal })
    expect(await stream[Symbol.asyncIterator]().next()).toEqual({ value: 'a', done: false })
    controller.abort('stop')
    await expect(stream.result).rejects.toBe('stop')
    expect(await stored()).toEqual([])
  })

  it('stops at once for an abort before the server has answered', async () => {
    const never = deferred<Reply>()
    const { session, stored } = await start(never.promise)
    const controller = new AbortController()
    const pieces = collect(session.stream('q', { signal: controller.signal }))
    setTimeout(() => controller.abort(), 10)
    await expect(pieces).rejects.toMatchObject({ name: 'AbortError' })
    never.resolve({})
    expect(await stored()).toEqual([])
  })

  describe('brings an error', () => {
    const failing: Array<[string, Reply, string]> = [
      ['of the request', { failure: { message: 'no good', when: 'at once' } }, ''],
      ['midway', { pieces: ['a', 'b'], failure: { message: 'no good', when: 'midway' } }, 'ab'],
      ['before the first piece', { failure: { message: 'no good', when: 'midway' } }, ''],
    ]

    it.each(failing)('%s to the loop, after the pieces', async (_name, reply, before) => {
      const { session, stored } = await start(reply)
      const pieces: string[] = []
      const stream = session.stream('q')
      const failure: unknown = await collect(stream, pieces).catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(LLMError)
      expect(failure).toMatchObject({ message: expect.stringContaining('no good'), provider: protocol })
      expect(pieces.join('')).toBe(before)
      await expect(stream.result).rejects.toBe(failure)
      expect(await collect(stream)).toEqual([])
      expect(await stored()).toEqual([])
    })

    it.each(failing)('%s to who holds result, and the loop just ends', async (_name, reply, before) => {
      const { session, stored } = await start(reply)
      const stream: StreamResult = session.stream('q')
      const { result } = stream
      const [pieces, outcome] = await Promise.allSettled([collect(stream), result])
      expect(pieces.status === 'fulfilled' && pieces.value.join('')).toBe(before)
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(LLMError) })
      expect(await stored()).toEqual([])
    })

    it.each(failing)('%s to nobody, where nobody looks, and the next turn runs', async (_name, reply) => {
      const { session, stored } = await start(reply)
      session.stream('q')
      session.setLLM(recording())
      await session.send('then')
      expect(await stored()).toEqual(['then', 'answer 2'])
    })
  })

  it('queues with other turns', async () => {
    const { session, stored } = await start({ pieces: ['1'] }, { pieces: ['2'] }, { pieces: ['3'] })
    const first = session.stream('a')
    const second = session.send('b')
    const third = session.stream('c')
    expect((await Promise.all([collect(third), second, collect(first)])).map((part) => (Array.isArray(part) ? part.join('') : part.content))).toEqual(['3', '2', '1'])
    expect(await stored()).toEqual(['a', '1', 'b', '2', 'c', '3'])
  })

  it('can be sent to from its own loop: that turn waits for the stream', async () => {
    const { session, stored } = await start(abc, { pieces: ['second'] })
    let inner: Promise<unknown> | undefined
    for await (const _ of session.stream('q')) inner ??= session.send('from the loop')
    await inner
    expect(await stored()).toEqual(['q', 'abc 日本 🎉', 'from the loop', 'second'])
  })
})

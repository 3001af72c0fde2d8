import { createSession, type LLMChunk, type LLMAdapter, type StreamResult } from '@stello-ai/session'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { deferred, recording } from './support/adapters.js'
import { storages } from './support/storages.js'

type Step = LLMChunk | Error | Promise<unknown>

/** An adapter whose stream gives chunks, waits for promises and throws errors, in order. */
function streaming(...steps: Step[]): LLMAdapter {
  return {
    maxContextTokens: 100_000,
    complete: () => Promise.reject(new Error('complete() is not for streams')),
    async *stream() {
      for (const step of steps) {
        if (step instanceof Error) throw step
        if (step instanceof Promise) await step
        else yield step
      }
    },
  }
}

const pieces = (...deltas: string[]) => deltas.map((delta) => ({ delta }))

async function collect(stream: AsyncIterable<string>) {
  const all: string[] = []
  for await (const piece of stream) all.push(piece)
  return all
}

let unhandled: unknown[] = []
const note = (reason: unknown) => unhandled.push(reason)
beforeEach(() => {
  unhandled = []
  process.on('unhandledRejection', note)
})
afterEach(async () => {
  await new Promise((resolve) => setTimeout(resolve, 5))
  process.off('unhandledRejection', note)
  // oxlint-disable-next-line vitest/no-standalone-expect -- it belongs to every test
  expect(unhandled).toEqual([])
})

describe.each(storages)('a stream on $name', ({ make }) => {
  async function start(llm: LLMAdapter) {
    const session = await createSession({ storage: make(), llm, label: 'x' })
    const stored = async () => (await session.messages()).map(({ content }) => content)
    return { session, stored }
  }

  it('gives the pieces in order, once, without the empty ones, and the whole in its result', async () => {
    const usage = { promptTokens: 5, completionTokens: 3, cachedPromptTokens: 1 }
    const { session, stored } = await start(streaming(...pieces('a', '', 'b'), { delta: 'c', reasoningDelta: 'why' }, { delta: '', usage, finishReason: 'stop' }))
    const stream = session.stream('q')
    expect(await collect(stream)).toEqual(['a', 'b', 'c'])
    expect(await stream.result).toEqual({ content: 'abc', usage, finishReason: 'stop', reasoningContent: 'why' })
    expect(await stored()).toEqual(['q', 'abc'])
  })

  it('ends for its reader after the commit', async () => {
    const { session, stored } = await start(streaming(...pieces('a')))
    for await (const _ of session.stream('q'));
    expect(await stored()).toEqual(['q', 'a'])
  })

  it('runs when only result is used', async () => {
    const { session, stored } = await start(streaming(...pieces('a', 'b')))
    expect((await session.stream('q').result).content).toBe('ab')
    expect(await stored()).toEqual(['q', 'ab'])
  })

  it('runs when neither is used', async () => {
    const { session, stored } = await start(streaming(...pieces('a')))
    session.stream('q')
    session.setLLM(recording())
    await session.send('next')
    expect((await stored()).slice(0, 2)).toEqual(['q', 'a'])
  })

  it('goes on when its loop is left, and a second loop goes on where the first stopped', async () => {
    const gate = deferred()
    const { session, stored } = await start(streaming(...pieces('a', 'b'), gate.promise, ...pieces('c', 'd')))
    const stream = session.stream('q')
    const first: string[] = []
    for await (const piece of stream) {
      first.push(piece)
      break
    }
    gate.resolve()
    expect(first).toEqual(['a'])
    expect(await collect(stream)).toEqual(['b', 'c', 'd'])
    expect(await collect(stream)).toEqual([])
    expect(await stored()).toEqual(['q', 'abcd'])
  })

  it('gives pieces as they come, to readers that wait and to two at once', async () => {
    const gate = deferred()
    const { session } = await start(streaming(...pieces('a'), gate.promise, ...pieces('b', 'c')))
    const stream = session.stream('q')
    const one = stream[Symbol.asyncIterator]()
    const two = stream[Symbol.asyncIterator]()
    expect(await one.next()).toEqual({ value: 'a', done: false })
    const waiting = [one.next(), two.next(), one.next()]
    gate.resolve()
    expect(await Promise.all(waiting)).toEqual([
      { value: 'b', done: false },
      { value: 'c', done: false },
      { value: undefined, done: true },
    ])
  })

  describe('brings an error', () => {
    const error = new Error('broke')
    const failing: Array<[string, () => LLMAdapter, string[]]> = [
      ['thrown at once', () => ({ ...streaming(), stream: () => { throw error } }), []],
      ['thrown before the first piece', () => streaming(error), []],
      ['thrown midway', () => streaming(...pieces('a', 'b'), error), ['a', 'b']],
      ['thrown after the last piece', () => streaming(...pieces('a'), { delta: '', finishReason: 'stop' }, error), ['a']],
    ]

    it.each(failing)('%s to the loop, after the pieces', async (_name, adapter, before) => {
      const { session, stored } = await start(adapter())
      const got: string[] = []
      const loop = async (stream: StreamResult) => {
        for await (const piece of stream) got.push(piece)
      }
      const stream = session.stream('q')
      await expect(loop(stream)).rejects.toBe(error)
      expect(got).toEqual(before)
      await expect(stream.result).rejects.toBe(error)
      expect(await stored()).toEqual([])
    })

    it.each(failing)('%s to who holds result, and the loop just ends', async (_name, adapter, before) => {
      const { session, stored } = await start(adapter())
      const stream = session.stream('q')
      const result = stream.result
      expect(await collect(stream)).toEqual(before)
      await expect(result).rejects.toBe(error)
      expect(await stored()).toEqual([])
    })

    it.each(failing)('%s to nobody, where nobody looks', async (_name, adapter) => {
      const { session, stored } = await start(adapter())
      session.stream('q')
      session.setLLM(recording())
      await session.send('next')
      expect(await stored()).toEqual(['next', 'answer 2'])
    })

    it('of the commit, after all pieces', async () => {
      const storage = make()
      const session = await createSession({ storage, llm: streaming(...pieces('a', 'b')) })
      storage.appendRecord = () => Promise.reject(error)
      const got: string[] = []
      const loop = async () => {
        for await (const piece of session.stream('q')) got.push(piece)
      }
      await expect(loop()).rejects.toBe(error)
      expect(got).toEqual(['a', 'b'])
      expect(await session.messages()).toEqual([])
    })
  })

  it('stops for an abort midway, after the pieces, and stores nothing', async () => {
    const { session, stored } = await start(streaming(...pieces('a'), new Promise(() => {}), ...pieces('b')))
    const controller = new AbortController()
    const stream = session.stream('q', { signal: controller.signal })
    const got: string[] = []
    const loop = (async () => {
      for await (const piece of stream) {
        got.push(piece)
        controller.abort('stop')
      }
    })()
    await expect(loop).rejects.toBe('stop')
    expect(got).toEqual(['a'])
    expect(await stored()).toEqual([])
  })

  it('gives no piece of an abandoned adapter after the end', async () => {
    const gate = deferred()
    const { session } = await start(streaming(...pieces('a'), gate.promise, ...pieces('late')))
    const controller = new AbortController()
    const stream = session.stream('q', { signal: controller.signal })
    const iterator = stream[Symbol.asyncIterator]()
    await iterator.next()
    controller.abort()
    await expect(stream.result).rejects.toMatchObject({ name: 'AbortError' })
    gate.resolve()
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(await iterator.next()).toEqual({ value: undefined, done: true })
  })

  it('of an adapter without stream is one piece', async () => {
    const { session } = await start(recording(() => ({ content: 'whole', finishReason: 'stop' })))
    const stream = session.stream('q')
    expect(await collect(stream)).toEqual(['whole'])
    expect(await stream.result).toEqual({ content: 'whole', finishReason: 'stop' })
  })

  it("of nothing has content '' and no pieces", async () => {
    for (const llm of [streaming(), streaming({ delta: '' }), recording(() => ({ content: null }))]) {
      const { session } = await start(llm)
      const stream = session.stream('q')
      expect(await collect(stream)).toEqual([])
      expect(await stream.result).toEqual({ content: '' })
    }
  })

  it('joins fragments of tool calls', async () => {
    const cases: Array<[NonNullable<LLMChunk['toolCallDeltas']>, unknown]> = [
      [[{ index: 0, id: 'a', name: 'f', input: '{"x":' }, { index: 1, id: 'b', name: 'g', input: '{}' }, { index: 0, input: '1}' }], [{ id: 'a', name: 'f', input: { x: 1 } }, { id: 'b', name: 'g', input: {} }]],
      [[{ index: 0, id: 'a', name: 'f' }], [{ id: 'a', name: 'f', input: {} }]],
      [[{ index: 0, id: 'a', name: 'f', input: '{}' }, { index: 0, id: 'b', name: 'g', input: '{"y":2}' }], [{ id: 'a', name: 'f', input: {} }, { id: 'b', name: 'g', input: { y: 2 } }]],
      [[{ index: 0, name: 'f', input: '{}' }], [{ id: expect.stringMatching(/./), name: 'f', input: {} }]],
    ]
    for (const [toolCallDeltas, expected] of cases) {
      const { session } = await start(streaming(...toolCallDeltas.map((delta) => ({ delta: '', toolCallDeltas: [delta] }))))
      const { toolCalls } = await session.stream('q').result
      expect(toolCalls).toEqual(expected)
      expect((await session.messages()).at(-1)?.toolCalls).toEqual(toolCalls)
    }
  })

  it('fails where the arguments of a call are not a JSON object', async () => {
    const broken = (finishReason: string) => streaming({ delta: '', toolCallDeltas: [{ index: 0, id: 'a', name: 'search', input: '{"q": "tru' }] }, { delta: '', finishReason })
    const { session, stored } = await start(broken('tool_calls'))
    await expect(session.stream('q').result).rejects.toMatchObject({ name: 'LLMError', code: 'invalid_tool_arguments', message: expect.stringContaining('search') })
    session.setLLM(broken('length'))
    await expect(session.stream('q').result).rejects.toMatchObject({ code: 'output_truncated', message: expect.stringMatching(/search.*maxOutputTokens/s) })
    expect(await stored()).toEqual([])
  })

  it('queues with other turns', async () => {
    const gate = deferred()
    const { session, stored } = await start(streaming(...pieces('a'), gate.promise))
    const first = session.stream('1')
    const second = session.stream('2')
    await first[Symbol.asyncIterator]().next()
    gate.resolve()
    await Promise.all([first.result, second.result])
    expect(await stored()).toEqual(['1', 'a', '2', 'a'])
  })
})

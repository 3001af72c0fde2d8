import { createSession, type LLMAdapter, type LLMChunk } from '@stello-ai/session'
import { describe, expect, it, vi } from 'vitest'
import { storages } from '../support/storages.js'
import { ck, comp, d, R, S } from './frames.mjs'
import { adapterOf } from './outcome.js'
import { withServer } from './server.mjs'

const answers = ({ body }: { body: { stream: boolean } }) => (body.stream ? S([d(ck({ content: 'native' }, 'stop')), d('[DONE]')]) : R(200, comp({ content: 'native' })))

async function use(make: (typeof storages)[number]['make'], wrap: (native: LLMAdapter) => LLMAdapter) {
  return withServer(answers, async (server) => {
    const session = await createSession({ storage: make(), llm: wrap(adapterOf('o', server.url)) })
    const sent = (await session.send('q')).content
    const streamed = (await session.stream('q').result).content
    return { sent, streamed, requests: server.requests.length, stored: (await session.messages({ role: 'assistant' })).map(({ content }) => content) }
  })
}

describe.each(storages)('a native adapter on $name', ({ make }) => {
  it('is used as it is', async () => {
    expect(await use(make, (native) => native)).toEqual({ sent: 'native', streamed: 'native', requests: 2, stored: ['native', 'native'] })
  })

  it('is native when it is spread', async () => {
    expect(await use(make, (native) => ({ ...native }))).toMatchObject({ sent: 'native', streamed: 'native', requests: 2 })
  })

  it('works through an object that inherits from it', async () => {
    expect(await use(make, (native) => Object.create(native))).toMatchObject({ sent: 'native', streamed: 'native', requests: 2 })
  })

  it('is called through a complete of its own, and its stream stays', async () => {
    const seen: string[] = []
    const outcome = await use(make, (native) => ({
      ...native,
      async complete(messages, options) {
        seen.push(messages.at(-1)!.content)
        const result = await native.complete(messages, options)
        return { ...result, content: `${result.content}, wrapped` }
      },
    }))
    expect(outcome).toEqual({ sent: 'native, wrapped', streamed: 'native', requests: 2, stored: ['native, wrapped', 'native'] })
    expect(seen).toEqual(['q'])
  })

  it('is called through a stream of its own', async () => {
    const outcome = await use(make, (native) => ({
      ...native,
      async *stream(messages, options) {
        for await (const chunk of native.stream!(messages, options)) yield { ...chunk, delta: chunk.delta.toUpperCase() } satisfies LLMChunk
      },
    }))
    expect(outcome).toMatchObject({ sent: 'native', streamed: 'NATIVE', requests: 2 })
  })

  it('is called through an override on an object that inherits from it', async () => {
    const outcome = await use(make, (native) => {
      const wrapper: LLMAdapter = Object.create(native)
      wrapper.complete = async () => ({ content: 'override' })
      return wrapper
    })
    expect(outcome).toMatchObject({ sent: 'override', streamed: 'native', requests: 1 })
  })

  it('is called through a class around it', async () => {
    class Logged implements LLMAdapter {
      log: string[] = []
      constructor(private inner: LLMAdapter) {}
      get maxContextTokens() {
        return this.inner.maxContextTokens
      }
      complete(...call: Parameters<LLMAdapter['complete']>) {
        this.log.push('complete')
        return this.inner.complete(...call)
      }
      stream(...call: Parameters<LLMAdapter['complete']>) {
        this.log.push('stream')
        return this.inner.stream!(...call)
      }
    }
    let logged!: Logged
    expect(await use(make, (native) => (logged = new Logged(native)))).toMatchObject({ sent: 'native', streamed: 'native', requests: 2 })
    expect(logged.log).toEqual(['complete', 'stream'])
  })

  it('is called through spies that come and go between turns', async () => {
    await withServer(answers, async (server) => {
      const llm = adapterOf('o', server.url)
      const session = await createSession({ storage: make(), llm })
      await session.send('before')
      const complete = vi.spyOn(llm, 'complete').mockResolvedValueOnce({ content: 'mocked' })
      expect((await session.send('during')).content).toBe('mocked')
      expect((await session.send('through')).content).toBe('native')
      expect(complete).toHaveBeenCalledTimes(2)
      expect(complete.mock.contexts[0]).toBe(llm)
      complete.mockRestore()
      expect((await session.send('after')).content).toBe('native')
      expect(complete).toHaveBeenCalledTimes(0)
      expect(server.requests).toHaveLength(3)
    })
  })

  it('without a stream gives one piece', async () => {
    const outcome = await use(make, ({ complete, maxContextTokens }) => ({ complete, maxContextTokens }))
    expect(outcome).toMatchObject({ sent: 'native', streamed: 'native', requests: 2 })
  })

  it('takes the window that is put on it', async () => {
    await withServer(answers, async (server) => {
      const compressFn = vi.fn(async () => 'summary')
      const session = await createSession({ storage: make(), llm: { ...adapterOf('o', server.url), maxContextTokens: 400 }, compressFn })
      for (let turn = 0; turn < 6; turn++) await session.send('word '.repeat(100))
      expect(compressFn).toHaveBeenCalled()
    })
  })
})

it('works detached', async () => {
  await withServer(answers, async (server) => {
    const { complete, stream } = adapterOf('o', server.url)
    expect((await complete([{ role: 'user', content: 'q' }])).content).toBe('native')
    const chunks: LLMChunk[] = []
    for await (const chunk of stream!([{ role: 'user', content: 'q' }])) chunks.push(chunk)
    expect(chunks).toEqual([{ delta: 'native' }, { delta: '', finishReason: 'stop' }])
  })
})

import { getEventListeners } from 'node:events'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { createSession, InMemoryStorageAdapter, type LLMAdapter } from '@stello-ai/session'
import { afterAll, describe, expect, it } from 'vitest'
import { amsg, comp, ck, d, E, bs, ms, R, S, td } from './frames.mjs'
import { adapterOf, QUESTION, type Protocol } from './outcome.js'
import { WireServer, type Answer } from './server.mjs'

const protocols: Protocol[] = ['o', 'a']
const first = { o: [d(ck({ content: 'a' }))], a: E(ms(), bs(0, { type: 'text', text: '' }), td(0, 'a')) }
const whole = { o: comp({ content: 'ok' }), a: amsg([{ type: 'text', text: 'ok' }]) }

/** What a call can be doing when it is aborted, and what the server sees of it by then. */
const states: Array<{ state: string; answer: (protocol: Protocol) => Answer; reached: (server: WireServer) => boolean }> = [
  { state: 'waiting for headers', answer: () => ({ hang: true }), reached: ({ requests }) => requests.length === 1 },
  { state: 'waiting for the first byte of the body', answer: () => S([], { end: 'hang' }), reached: ({ requests }) => requests.length === 1 },
  { state: 'reading', answer: (protocol) => S(first[protocol], { end: 'hang' }), reached: ({ requests }) => requests.length === 1 },
  { state: 'reading a document', answer: () => R(200, '{"choices":', { 'content-length': '1000' }, { end: 'hang' }), reached: ({ requests }) => requests.length === 1 },
  { state: 'reading a refusal', answer: () => R(500, '{"error":', { 'content-length': '1000' }, { end: 'hang' }), reached: ({ requests }) => requests.length === 1 },
  { state: 'sleeping between attempts', answer: () => R(429, { error: { message: 'slow' } }, { 'retry-after': '30' }), reached: ({ requests }) => requests.length === 1 },
]

const took: Array<{ state: string; how: string; ms: number }> = []
afterAll(() => console.table(took))

/** Every way to call a model, each as a promise that settles with the call. */
const ways: Array<{ how: string; call: (llm: LLMAdapter, signal: AbortSignal) => Promise<unknown> }> = [
  { how: 'complete', call: (llm, signal) => llm.complete(QUESTION, { signal }) },
  {
    how: 'stream',
    call: async (llm, signal) => {
      for await (const _ of llm.stream!(QUESTION, { signal }));
    },
  },
  { how: 'send', call: async (llm, signal) => (await createSession({ storage: new InMemoryStorageAdapter(), llm })).send('q', { signal }) },
  { how: 'session stream', call: async (llm, signal) => (await createSession({ storage: new InMemoryStorageAdapter(), llm })).stream('q', { signal }).result },
]

describe.each(protocols)('an abort of a call over protocol %s', (protocol) => {
  describe.each(states)('while $state', ({ state, answer, reached }) => {
    it.each(ways)('rejects $how with the reason and closes the connection', async ({ how, call }) => {
      const server = await new WireServer([answer(protocol)]).start()
      const abort = new AbortController()
      const outcome = call(adapterOf(protocol, server.url), abort.signal).then(
        () => 'no error',
        (error: unknown) => error,
      )
      await server.until(() => reached(server))
      // The client has seen what there is to see when nothing more is on the way.
      await new Promise((resolve) => setTimeout(resolve, 40))
      expect(server.connections).toBe(1)
      const before = performance.now()
      const reason = new Error('enough')
      abort.abort(reason)
      expect(await outcome).toBe(reason)
      await server.until(() => server.closed === 1)
      took.push({ state, how: `${protocol} ${how}`, ms: Math.round((performance.now() - before) * 10) / 10 })
      expect(server.requests).toHaveLength(1)
      expect(getEventListeners(abort.signal, 'abort')).toEqual([])
      await server.stop()
    })
  })

  it('while connecting closes the connection', async () => {
    // A server that takes connections and never answers the TLS greeting.
    const sockets: Socket[] = []
    const server = createTcpServer((socket) => sockets.push(socket.on('error', () => {}))).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    const greeted = new Promise<Socket>((resolve) => server.once('connection', (socket) => socket.once('data', () => resolve(socket))))
    const abort = new AbortController()
    const outcome = adapterOf(protocol, `https://127.0.0.1:${port}`).complete(QUESTION, { signal: abort.signal }).catch((error: unknown) => error)
    const socket = await greeted
    const before = performance.now()
    abort.abort()
    const closed = new Promise((resolve) => socket.once('close', resolve))
    expect(await outcome).toBe(abort.signal.reason)
    await closed
    took.push({ state: 'connecting', how: `${protocol} complete`, ms: Math.round((performance.now() - before) * 10) / 10 })
    expect(sockets).toHaveLength(1)
    await new Promise((resolve) => server.close(resolve))
  })

  it('does nothing to a call that has ended, nor to the next one', async () => {
    const server = await new WireServer([R(200, whole[protocol])]).start()
    const llm = adapterOf(protocol, server.url)
    const abort = new AbortController()
    expect((await llm.complete(QUESTION, { signal: abort.signal })).content).toBe('ok')
    abort.abort()
    expect((await llm.complete(QUESTION)).content).toBe('ok')
    expect(server.requests).toHaveLength(2)
    await server.stop()
  })

  it('ends when the loop over the stream is left', async () => {
    const server = await new WireServer([S(first[protocol], { end: 'hang' })]).start()
    for await (const { delta } of adapterOf(protocol, server.url).stream!(QUESTION)) {
      expect(delta).toBe('a')
      break
    }
    await server.until(() => server.closed === 1)
    await server.stop()
  })

  it('leaves no listener on the signal after 1 000 turns', async () => {
    const text = protocol === 'o' ? [d(ck({ content: 'a' }, 'stop')), d('[DONE]')] : [...first.a, ...E({ type: 'message_delta', delta: { stop_reason: 'end_turn' } }, { type: 'message_stop' })]
    const server = await new WireServer(({ body }) => (body.stream ? S([text.join('')]) : R(200, whole[protocol]))).start()
    const abort = new AbortController()
    const session = await createSession({ storage: new InMemoryStorageAdapter(), llm: adapterOf(protocol, server.url) })
    for (let turn = 0; turn < 500; turn++) {
      await session.trimRecords(0)
      await session.send('q', { signal: abort.signal })
      expect((await session.stream('q', { signal: abort.signal }).result).content).toBe('a')
    }
    expect(getEventListeners(abort.signal, 'abort')).toEqual([])
    expect(server.requests).toHaveLength(1_000)
    await server.stop()
  })
})

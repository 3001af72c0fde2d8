// A provider that breaks off at every place of its answer, in every way a connection can: the turn fails with an LLMError and
// leaves nothing, on a storage of the application's as on a native one; the next turn works.
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { LLMError, SqliteStorageAdapter, createOpenAICompatibleAdapter, type MainStorage } from '@stello-ai/session'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MapStorage } from '../support/map-storage.js'
import { dump, kinds, makeWorld } from './kinds.js'

type Break = (response: ServerResponse) => void

const event = (delta: object, reason: string | null) => `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`
const whole = JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'the answer' }, finish_reason: 'stop' }], usage: { prompt_tokens: 1, completion_tokens: 2 } })
const streamed = `${event({ content: 'the ' }, null)}${event({ content: 'answer' }, null)}${event({}, 'stop')}data: [DONE]\n\n`

/** What happens to the next answer; nothing, once it has happened. */
let breaking: ((text: string, type: string) => Break) | undefined

const server = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (part: string) => (body += part))
  request.on('end', () => {
    const stream = (JSON.parse(body) as { stream?: boolean }).stream === true
    const [text, type] = stream ? [streamed, 'text/event-stream'] : [whole, 'application/json']
    const broken = breaking?.(text, type)
    breaking = undefined
    if (broken !== undefined) return broken(response)
    response.writeHead(200, { 'content-type': type }).end(text)
  })
})
let baseURL: string
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

/** Places in the answer, as parts of it: before the model has said that it is done. */
const places = [0, 0.02, 0.4, 0.8]
const upTo = (text: string, place: number) => text.slice(0, Math.floor(text.length * place))

const breaks: Array<[string, NonNullable<typeof breaking>]> = [
  ['resets before its headers', () => (response) => void response.socket?.resetAndDestroy()],
  ['closes before its headers', () => (response) => void response.socket?.end()],
  ['speaks no HTTP', () => (response) => void response.socket?.end('what?\r\n\r\n')],
  ['answers 500', () => (response) => void response.writeHead(500).end('oh')],
  ['answers 429 without an end', () => (response) => void response.writeHead(429, { 'retry-after': '0' }).write('{')],
  ['answers 200 and no content', () => (response) => void response.writeHead(200, { 'content-length': '0' }).end()],
  ['answers a page', () => (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>login</html>')],
  ['answers JSON that is no answer', (_, type) => (response) => void response.writeHead(200, { 'content-type': type }).end(type === 'application/json' ? '{"choices":{}}' : 'data: {"choices":{}}\n\n')],
  ['answers bytes that are no text', (_, type) => (response) => void response.writeHead(200, { 'content-type': type }).end(Buffer.alloc(500, 0xfe))],
  ['says less than it announced', (text, type) => (response) => {
    response.writeHead(200, { 'content-type': type, 'content-length': String(text.length + 10) }).write(text.slice(0, -20), () => response.socket?.destroy())
  }],
  ...places.flatMap((place): typeof breaks => [
    [`resets after ${place} of its answer`, (text, type) => (response) => void response.writeHead(200, { 'content-type': type }).write(`${upTo(text, place)}\n`, () => response.socket?.resetAndDestroy())],
    [`ends after ${place} of its answer`, (text, type) => (response) => void response.writeHead(200, { 'content-type': type }).end(upTo(text, place))],
    [`falls silent after ${place} of its answer`, (text, type) => (response) => void response.writeHead(200, { 'content-type': type }).write(upTo(text, place))],
  ]),
]

const turns = kinds.filter(({ name }) => ['send', 'stream that is iterated', 'stream of a main session'].includes(name))

describe.each<[string, () => MainStorage]>([
  ['a JavaScript storage', () => new MapStorage()],
  ['SQLite', () => new SqliteStorageAdapter({ path: ':memory:' })],
])('on %s, a provider that', (_, make) => {
  it.each(breaks)('%s fails the turn, and only that', { timeout: 60_000 }, async (_name, broken) => {
    for (const kind of turns) {
      const storage = make()
      const llm = createOpenAICompatibleAdapter({ baseURL, model: 'm', apiKey: '', maxContextTokens: 100_000, maxRetries: 0, timeoutMs: 300, idleTimeoutMs: 150 })
      const made = await makeWorld(storage, llm, kind)
      const before = await dump(storage)
      breaking = broken
      const error = await kind.run(made).then(() => undefined, (reason: unknown) => reason)
      expect(error, kind.name).toBeInstanceOf(LLMError)
      expect(await dump(storage), kind.name).toBe(before)
      await kind.run(made)
      expect(await dump(storage), kind.name).not.toBe(before)
    }
  })
})

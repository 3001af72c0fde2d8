// A provider in a process of its own, as bad as it is told to be: node provider.mjs JSON
//
// JSON: { seed, latencyMs, faults }: answers come after up to `latencyMs`, streams in pieces with pauses between them, and `faults` of the
// answers (0 to 1) are a 429, a 500, a reset connection or a cut. Prints its base URL. Ends when its input does.
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { answerTo, random } from './random.mjs'

const { seed = 1, latencyMs = 5, faults = 0 } = JSON.parse(process.argv[2] ?? '{}')
const chance = random(seed)
const wait = async () => {
  const ms = chance() * latencyMs
  if (ms >= 1) await pause(ms)
}

/** @param {object} delta @param {string | null} reason */
const event = (delta, reason) => `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`
const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 }

const server = createServer(async (request, response) => {
  let body = ''
  for await (const part of request.setEncoding('utf8')) body += part
  const { messages, stream } = JSON.parse(body)
  const content = answerTo(messages.at(-1).content)
  await wait()
  const fault = chance() < faults ? Math.floor(chance() * 5) : undefined
  if (fault === 0) return void response.writeHead(429, { 'retry-after-ms': '1' }).end('{"error":{"message":"slow down"}}')
  if (fault === 1) return void response.writeHead(500).end('{"error":{"message":"oh no"}}')
  if (fault === 2) return void response.socket?.resetAndDestroy()
  if (stream !== true) {
    const text = JSON.stringify({ choices: [{ message: { role: 'assistant', content }, finish_reason: 'stop' }], usage })
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) })
    if (fault === undefined) return void response.end(text)
    return void response.write(text.slice(0, text.length * chance()), () => response.socket?.destroy())
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const pieces = content.match(/.{1,12}/gsu) ?? []
  const cutAt = fault === undefined ? Infinity : Math.floor(chance() * pieces.length)
  for (const [index, piece] of pieces.entries()) {
    if (index === cutAt) return void (fault === 3 ? response.end() : response.socket?.resetAndDestroy())
    response.write(event({ content: piece }, null))
    if (chance() < 0.3) await wait()
  }
  response.end(`${event({}, 'stop')}data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`)
})
// A client that goes away in the middle is no news here.
server.on('clientError', (_, socket) => socket.destroy())
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  console.log(`http://127.0.0.1:${port}/v1`)
})
process.stdin.resume().once('end', () => process.exit(0))

// @ts-check
// A model provider on this machine that answers at once: as much of OpenAI Chat Completions and Anthropic Messages as
// a measurement needs. The environment says how it answers: CHUNKS pieces of a stream, REPLY_CHARS characters in all.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import { fileURLToPath } from 'node:url'

const file = fileURLToPath(import.meta.url)
const CHUNKS = Number(process.env.CHUNKS ?? 20)
const REPLY_CHARS = Number(process.env.REPLY_CHARS ?? 400)
const PIECE = 'x'.repeat(Math.max(1, Math.floor(REPLY_CHARS / CHUNKS)))

/**
 * Starts it in a process of its own, so that its work is nobody else's. It ends with this one.
 *
 * @param {{ chunks?: number, replyChars?: number }} [options]
 */
export async function startProvider({ chunks = 20, replyChars = 400 } = {}) {
  const env = { ...process.env, CHUNKS: String(chunks), REPLY_CHARS: String(replyChars) }
  const child = fork(file, [], { env, execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  process.on('exit', () => child.kill())
  const [port] = await once(child, 'message')
  return { origin: `http://127.0.0.1:${port}`, stop: () => child.kill() }
}

/** @param {http.ServerResponse} response */
function openai(response, /** @type {boolean} */ streaming, /** @type {number} */ promptTokens) {
  const usage = { prompt_tokens: promptTokens, completion_tokens: 100, total_tokens: promptTokens + 100 }
  if (!streaming) {
    response.setHeader('content-type', 'application/json')
    const message = { role: 'assistant', content: PIECE.repeat(CHUNKS) }
    response.end(JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }], usage }))
    return
  }
  response.setHeader('content-type', 'text/event-stream')
  const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' }
  const piece = `data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, delta: { content: PIECE }, finish_reason: null }] })}\n\n`
  for (let n = 0; n < CHUNKS; n++) response.write(piece)
  response.write(`data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage })}\n\n`)
  response.end('data: [DONE]\n\n')
}

/** @param {http.ServerResponse} response */
function anthropic(response, /** @type {boolean} */ streaming, /** @type {number} */ promptTokens) {
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'm' }
  if (!streaming) {
    response.setHeader('content-type', 'application/json')
    const content = [{ type: 'text', text: PIECE.repeat(CHUNKS) }]
    response.end(JSON.stringify({ ...message, content, stop_reason: 'end_turn', usage: { input_tokens: promptTokens, output_tokens: 100 } }))
    return
  }
  response.setHeader('content-type', 'text/event-stream')
  response.write(event({ type: 'message_start', message: { ...message, content: [], stop_reason: null, usage: { input_tokens: promptTokens, output_tokens: 1 } } }))
  response.write(event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }))
  const piece = event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: PIECE } })
  for (let n = 0; n < CHUNKS; n++) response.write(piece)
  response.write(event({ type: 'content_block_stop', index: 0 }))
  response.write(event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 100 } }))
  response.end(event({ type: 'message_stop' }))
}

/** @param {{ type: string, [key: string]: unknown }} data */
function event(data) {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
}

function serve() {
  const server = http.createServer((request, response) => {
    // Only both ends of a body are looked at: `stream` stands before or after the messages.
    /** @type {Buffer[]} */
    const ends = []
    let bytes = 0
    request.on('data', (/** @type {Buffer} */ part) => {
      bytes += part.length
      if (ends.length === 3) ends.splice(1, 1)
      ends.push(part)
    })
    request.on('end', () => {
      const seen = ends.map((part, index) => (index === 0 ? part.toString('latin1', 0, 4096) : '') + part.toString('latin1', Math.max(0, part.length - 4096))).join('')
      const answer = request.url?.includes('/messages') === true ? anthropic : openai
      answer(response, /"stream":\s*true/.test(seen), Math.ceil(bytes / 4))
    })
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    if (typeof address === 'object') process.send?.(address?.port)
  })
}

if (process.argv[1] === file) serve()

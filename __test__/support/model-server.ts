import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAnthropicAdapter, createOpenAICompatibleAdapter, type LLMAdapter, type Message, type ToolCall } from '@stello-ai/session'

/** What a model says to one request, whatever it is asked over. */
export interface Reply {
  /** The text, as it is streamed. */
  pieces?: string[]
  toolCalls?: ToolCall[]
  /** Says nothing more after the pieces, and keeps the connection open. */
  silent?: boolean
  /** Fails with this message: before the first piece, or after the last. */
  failure?: { message: string; when: 'at once' | 'midway' }
}

/** A prompt as a model sees it: what all protocols have in common. */
export interface Seen {
  /** All system texts, a blank line between them. */
  system: string
  messages: string[]
}

export type Script = (seen: Seen) => Reply | Promise<Reply>

export const USAGE = { promptTokens: 11, completionTokens: 7 }

/** A model behind an adapter: every prompt it saw, and the requests whose connection was closed before the answer's end. */
export interface Model {
  llm: LLMAdapter
  seen: Seen[]
  stop(): Promise<void>
}

const finishReason = (reply: Reply) => (reply.toolCalls === undefined ? 'stop' : 'tool_calls')

/** An adapter written in JavaScript, with or without `stream`. */
export function scripted(script: Script, { withStream, window }: { withStream: boolean; window: number }): Model {
  const seen: Seen[] = []
  const ask = async (messages: Message[]) => {
    const now = seenByAdapter(messages)
    seen.push(now)
    const reply = await script(now)
    if (reply.failure?.when === 'at once') throw new Error(reply.failure.message)
    return reply
  }
  const whole: LLMAdapter = {
    maxContextTokens: window,
    async complete(messages) {
      const reply = await ask(messages)
      if (reply.silent === true) return new Promise(() => {})
      if (reply.failure !== undefined) throw new Error(reply.failure.message)
      return { content: reply.pieces?.join('') ?? null, toolCalls: reply.toolCalls, usage: USAGE, finishReason: finishReason(reply) }
    },
  }
  const llm: LLMAdapter = {
    ...whole,
    async *stream(messages) {
      const reply = await ask(messages)
      for (const delta of reply.pieces ?? []) yield { delta }
      if (reply.silent === true) await new Promise(() => {})
      if (reply.failure !== undefined) throw new Error(reply.failure.message)
      const fragments = (reply.toolCalls ?? []).map(({ id, name, input }, index) => ({ index, id, name, input: JSON.stringify(input) }))
      yield { delta: '', toolCallDeltas: fragments, usage: USAGE, finishReason: finishReason(reply) }
    },
  }
  return { llm: withStream ? llm : whole, seen, stop: async () => {} }
}

function seenByAdapter(messages: Message[]): Seen {
  return {
    system: messages.filter(({ role }) => role === 'system').map(({ content }) => content).join('\n\n'),
    messages: messages.filter(({ role }) => role !== 'system').map(({ role, content, toolCalls, toolCallId }) => line(role, content, toolCalls, toolCallId)),
  }
}

function line(role: string, content: string, toolCalls: ToolCall[] = [], toolCallId = '') {
  return [`${role}${toolCallId === '' ? '' : ` ${toolCallId}`}: ${content}`, ...toolCalls.map(({ id, name, input }) => `${id} ${name}(${JSON.stringify(input)})`)].join(' | ')
}

/** A server on this machine that speaks OpenAI's Chat Completions or Anthropic's Messages, behind the native adapter for it. */
export async function served(protocol: 'openai' | 'anthropic', script: Script, window: number): Promise<Model> {
  const seen: Seen[] = []
  const speak = protocol === 'openai' ? speakOpenAI : speakAnthropic
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await read(request)) as Body
    const now = protocol === 'openai' ? seenByOpenAI(body) : seenByAnthropic(body)
    seen.push(now)
    const reply = await script(now)
    if (reply.failure?.when === 'at once') return void answer(response, 400, { error: { message: reply.failure.message, type: 'invalid_request_error' } })
    if (body.stream === true) return stream(response, reply, speak(reply))
    if (reply.silent === true) return
    if (reply.failure !== undefined) return void answer(response, 400, { error: { message: reply.failure.message } })
    answer(response, 200, speak(reply).whole)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const options = { model: 'scripted', apiKey: 'key', maxContextTokens: window, maxRetries: 0 }
  return {
    llm: protocol === 'openai' ? createOpenAICompatibleAdapter({ ...options, baseURL: `${baseURL}/v1` }) : createAnthropicAdapter({ ...options, baseURL }),
    seen,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function read(request: IncomingMessage) {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return text
}

function answer(response: ServerResponse, status: number, body: object) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function stream(response: ServerResponse, reply: Reply, { pieces, end, error }: Spoken) {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of pieces) response.write(event)
  if (reply.silent === true) return
  response.end(reply.failure === undefined ? end.join('') : error(reply.failure.message))
}

interface Block {
  type: string
  text?: string
  id?: string
  name?: string
  input?: Record<string, unknown>
  tool_use_id?: string
  content?: string | Block[]
}

interface Body {
  stream?: boolean
  system?: string | Block[]
  messages: Array<{
    role: string
    content: string | Block[] | null
    tool_call_id?: string
    tool_calls?: Array<{ id: string; function: { name: string; arguments: string } }>
  }>
}

const textOf = (content: string | Block[] | null | undefined): string =>
  typeof content === 'string' ? content : (content ?? []).map((block) => block.text ?? textOf(block.content)).join('')

function seenByOpenAI({ messages }: Body): Seen {
  return {
    system: messages.filter(({ role }) => role === 'system').map(({ content }) => textOf(content)).join('\n\n'),
    messages: messages
      .filter(({ role }) => role !== 'system')
      .map(({ role, content, tool_calls: calls, tool_call_id: id }) =>
        line(role, textOf(content), calls?.map((call) => ({ id: call.id, name: call.function.name, input: JSON.parse(call.function.arguments) })), id),
      ),
  }
}

function seenByAnthropic({ system, messages }: Body): Seen {
  return {
    system: typeof system === 'string' ? system : (system ?? []).map(({ text = '' }) => text).join('\n\n'),
    messages: messages.flatMap(({ role, content }) => {
      if (content === null || typeof content === 'string') return [line(role, content ?? '')]
      const results = content.filter(({ type }) => type === 'tool_result').map((block) => line('tool', textOf(block.content), [], block.tool_use_id))
      const calls = content.filter(({ type }) => type === 'tool_use').map(({ id = '', name = '', input = {} }) => ({ id, name, input }))
      const words = content.filter(({ type }) => type === 'text')
      return [...results, ...(words.length + calls.length > 0 ? [line(role, textOf(words), calls)] : [])]
    }),
  }
}

/** A reply in a protocol: as one document, and as the events of a stream. */
interface Spoken {
  whole: object
  pieces: string[]
  end: string[]
  error(message: string): string
}

function speakOpenAI(reply: Reply): Spoken {
  const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`
  const chunk = (delta: object, reason: string | null = null) => event({ choices: [{ index: 0, delta, finish_reason: reason }] })
  const calls = (reply.toolCalls ?? []).map(({ id, name, input }) => ({ id, type: 'function', function: { name, arguments: JSON.stringify(input) } }))
  const usage = { prompt_tokens: USAGE.promptTokens, completion_tokens: USAGE.completionTokens, total_tokens: 18 }
  const reason = finishReason(reply)
  return {
    whole: {
      choices: [{ index: 0, finish_reason: reason, message: { role: 'assistant', content: reply.pieces?.join('') ?? null, ...(calls.length > 0 && { tool_calls: calls }) } }],
      usage,
    },
    pieces: (reply.pieces ?? []).map((content) => chunk({ content })),
    end: [...calls.map((call, index) => chunk({ tool_calls: [{ index, ...call }] })), chunk({}, reason), event({ choices: [], usage }), 'data: [DONE]\n\n'],
    error: (message) => event({ error: { message, type: 'server_error' } }),
  }
}

function speakAnthropic(reply: Reply): Spoken {
  const event = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
  const text = reply.pieces === undefined ? [] : [{ type: 'text', text: reply.pieces.join('') }]
  const calls = (reply.toolCalls ?? []).map(({ id, name, input }) => ({ type: 'tool_use', id, name, input }))
  const reason = reply.toolCalls === undefined ? 'end_turn' : 'tool_use'
  const usage = { input_tokens: USAGE.promptTokens, output_tokens: USAGE.completionTokens }
  const toolEvents = calls.flatMap(({ input, ...call }, n) => {
    const index = n + text.length
    return [
      event('content_block_start', { index, content_block: { ...call, input: {} } }),
      event('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) } }),
      event('content_block_stop', { index }),
    ]
  })
  return {
    whole: { type: 'message', role: 'assistant', content: [...text, ...calls], stop_reason: reason, usage },
    pieces: [
      event('message_start', { message: { role: 'assistant', content: [], usage: { ...usage, output_tokens: 1 } } }),
      ...text.map(() => event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })),
      ...(reply.pieces ?? []).map((piece) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: piece } })),
    ],
    end: [
      ...text.map(() => event('content_block_stop', { index: 0 })),
      ...toolEvents,
      event('message_delta', { delta: { stop_reason: reason }, usage: { output_tokens: USAGE.completionTokens } }),
      event('message_stop', {}),
    ],
    error: (message) => event('error', { error: { type: 'overloaded_error', message } }),
  }
}

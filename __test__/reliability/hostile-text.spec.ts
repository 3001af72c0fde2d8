// Whatever stands in prompts, labels, insights, memories, metadata, tags, tool names, call ids, arguments and results: it is carried as
// text. It changes no role, adds no message, breaks no request, and nothing of it reaches the prototypes of the process.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAnthropicAdapter, createOpenAICompatibleAdapter, createSession, loadSession, type LLMAdapter, type LLMResult, type MainStorage, type Message } from '@stello-ai/session'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { recording } from '../support/adapters.js'
import { allStorages } from '../support/storages.js'
import { hostileTexts } from './hostile.js'

/** What the model says next, and the bodies of the requests that it got, parsed. */
let next: LLMResult
const bodies: Array<Record<string, unknown>> = []

const server = createServer(async (request, response) => {
  let text = ''
  for await (const part of request.setEncoding('utf8')) text += part
  bodies.push(JSON.parse(text) as Record<string, unknown>)
  const { content, toolCalls = [] } = next
  const openai = {
    choices: [{ finish_reason: 'stop', message: { role: 'assistant', content, tool_calls: toolCalls.map(({ id, name, input }) => ({ id, type: 'function', function: { name, arguments: JSON.stringify(input) } })) } }],
  }
  const anthropic = { type: 'message', role: 'assistant', stop_reason: 'end_turn', content: [...(content === null ? [] : [{ type: 'text', text: content }]), ...toolCalls.map((call) => ({ type: 'tool_use', ...call }))] }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(request.url?.endsWith('/messages') === true ? anthropic : openai))
})
let url: string
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const marks = Object.getOwnPropertyNames(Object.prototype)
afterEach(() => {
  assert.deepEqual(Object.getOwnPropertyNames(Object.prototype), marks)
  assert.deepEqual(Object.keys(Array.prototype), [])
})

/** All system texts, a blank line between them, and what is said after them. */
interface Prompt {
  system: string
  said: Seen
}
type Seen = Array<{ role: string; text: string; calls?: unknown; answers?: unknown }>

function split(all: Seen): Prompt {
  return { system: all.filter(({ role }) => role === 'system').map(({ text }) => text).join('\n\n'), said: all.filter(({ role }) => role !== 'system') }
}

/** What a message says and calls; whose answer it is differs in form. */
const essence = (said: Seen) => said.map(({ role, text, calls }) => ({ role, text, calls }))

/** A prompt as each model gets it, in one form. */
const models: Record<string, () => { llm: LLMAdapter; seen: () => Prompt }> = {
  'a JavaScript model': () => {
    const llm = recording(() => next)
    const one = ({ role, content, toolCalls, toolCallId }: Message) => ({ role, text: content, calls: toolCalls, answers: toolCallId })
    return { llm, seen: () => split((llm.prompts.at(-1) ?? []).map(one)) }
  },
  'the OpenAI protocol': () => ({
    llm: createOpenAICompatibleAdapter({ baseURL: `${url}/v1`, model: 'm', apiKey: '', maxContextTokens: 1_000_000 }),
    seen() {
      const messages = bodies.at(-1)?.messages as Array<{ role: string; content: string | null; tool_calls?: Array<{ id: string; function: { name: string; arguments: string } }>; tool_call_id?: string }>
      return split(messages.map(({ role, content, tool_calls: calls, tool_call_id: answers }) => ({
        role,
        text: content ?? '',
        calls: calls?.map((call) => ({ id: call.id, name: call.function.name, input: JSON.parse(call.function.arguments) as unknown })),
        answers,
      })))
    },
  }),
  'the Anthropic protocol': () => ({
    llm: createAnthropicAdapter({ baseURL: url, model: 'm', apiKey: '', maxContextTokens: 1_000_000 }),
    seen() {
      interface Block { type: string; text?: string; id?: string; name?: string; input?: unknown; tool_use_id?: string; content?: string | Block[] }
      const { system, messages } = bodies.at(-1) as { system?: string | Block[]; messages: Array<{ role: string; content: string | Block[] }> }
      const blocks = (content: string | Block[]) => (typeof content === 'string' ? [{ type: 'text', text: content } as Block] : content)
      const textOf = (content: string | Block[] | undefined): string => (content === undefined ? '' : blocks(content).map(({ text = '' }) => text).join(''))
      const said = messages.flatMap(({ role, content }): Seen => {
        const results = blocks(content).filter(({ type }) => type === 'tool_result')
        const calls = blocks(content).filter(({ type }) => type === 'tool_use')
        const text = textOf(blocks(content).filter(({ type }) => type === 'text'))
        return [
          ...results.map((result) => ({ role: 'tool', text: textOf(result.content), answers: result.tool_use_id })),
          ...(text === '' && calls.length === 0 ? [] : [{ role, text, ...(calls.length > 0 && { calls: calls.map(({ id, name, input }) => ({ id, name, input })) }) }]),
        ]
      })
      return { system: blocks(system ?? []).map(({ text = '' }) => text).join('\n\n'), said }
    },
  }),
}

const object = (key: string, value: unknown) => JSON.parse(`{${JSON.stringify(key)}:${JSON.stringify(value)}}`) as Record<string, unknown>

describe.each(allStorages)('on $name', ({ make }) => {
  describe.each(Object.entries(models))('with %s', (name, open) => {
    it('text of every hostile kind stays text, wherever it stands', { timeout: 60_000 }, async () => {
      const storage = make()
      expect.hasAssertions()
      for (const [title, text] of Object.entries(hostileTexts)) {
        await staysText(storage, open, title, text, name === 'the Anthropic protocol').catch((error: unknown) => {
          throw new Error(`${title}: ${String(error)}`, { cause: error })
        })
      }
    })
  })
})

async function staysText(storage: MainStorage, open: () => { llm: LLMAdapter; seen: () => Prompt }, title: string, text: string, isAnthropic: boolean) {
  const { llm, seen } = open()
  const other = await createSession({ storage, llm, id: `beside ${title}`, label: '' })
  const session = await createSession({ storage, llm, id: title, label: text, systemPrompt: text, tags: [text], metadata: object(text, text) })
  await session.setInsight(text)
  next = { content: null, toolCalls: [{ id: `id ${text}`, name: text, input: object(text, [text, object(text, null)]) }] }
  const { toolCalls } = await session.send(text)
  expect(toolCalls).toEqual(next.toolCalls)
  // A provider of that protocol refuses text of blanks alone, and is sent none.
  const isSent = !isAnthropic || text.trim() !== ''
  const { system } = seen()
  if (isSent) expect([system.slice(0, text.length + 2), system.slice(-text.length - 2)]).toEqual([`${text}\n\n`, `\n\n${text}`])
  const identity = system.slice(isSent ? text.length + 2 : 0, isSent ? -text.length - 2 : undefined)
  expect(identity).toMatch(/^<session_identity>\n[^<>\p{Cc}\p{Zl}\p{Zp}]*\n<\/session_identity>$/u)
  if (isSent) expect(essence(seen().said)).toEqual(essence([{ role: 'user', text }]))

  next = { content: text }
  const answered = { role: 'assistant', text: '', calls: toolCalls }
  await session.send({ toolResults: [{ toolCallId: `id ${text}`, toolName: text, success: true, data: object(text, text) }] })
  const result = { role: 'tool', text: JSON.stringify(object(text, text)) }
  if (isSent) expect(essence(seen().said)).toEqual(essence([{ role: 'user', text }, answered, result]))
  await session.send(text)
  const spoken = [{ role: 'user', text }, answered, result, { role: 'assistant', text }, { role: 'user', text }]
  if (isSent) expect(essence(seen().said)).toEqual(essence(spoken))

  await session.consolidate(async () => text)
  await session.setInsight(text)
  const again = await loadSession(title, { storage })
  expect([again?.meta.label, again?.meta.tags, JSON.stringify(again?.meta.metadata)]).toEqual([text, [text], JSON.stringify(object(text, text))])
  expect([await again?.systemPrompt(), await again?.insight(), await again?.memory()]).toEqual([text, text, text])
  expect((await again?.messages())?.map(({ role, content }) => [role, content])).toEqual(
    [['user', text], ['assistant', ''], ['tool', JSON.stringify(object(text, text))], ['assistant', text], ['user', text], ['assistant', text]],
  )
  // And nobody else has heard of it.
  next = { content: 'nothing' }
  await other.send('hello')
  expect([seen().system, essence(seen().said)]).toEqual(['', essence([{ role: 'user', text: 'hello' }])])
}

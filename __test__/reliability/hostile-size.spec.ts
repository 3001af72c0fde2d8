// What is nested a hundred thousand levels deep, what is as long as a book shelf, and keys that come twice: carried whole or refused by
// name, never cut, and the next turn works.
//
//   STELLO_MEGABYTES=50 npx vitest run __test__/reliability/hostile-size.spec.ts   longer texts than the 5 MB of every day
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { LLMError, StorageError, createAnthropicAdapter, createOpenAICompatibleAdapter, createSession, loadSession, type Message } from '@stello-ai/session'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { recording } from '../support/adapters.js'
import { allStorages } from '../support/storages.js'

const megabytes = Number(process.env.STELLO_MEGABYTES ?? 5)
const DEPTHS = [100, 511, 1_000, 3_000, 20_000, 100_000]

/** The body of the next answers; and the last request. */
let answer = ''
let asked = ''
const server = createServer(async (request, response) => {
  asked = ''
  for await (const part of request.setEncoding('utf8')) asked += part
  response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
})
let baseURL: string
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})
const options = () => ({ baseURL: `${baseURL}/v1`, model: 'm', apiKey: '', maxContextTokens: 1e12, maxRetries: 0 })
const openai = (content: string | null, args?: string) =>
  JSON.stringify({ choices: [{ message: { content, ...(args !== undefined && { tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: args } }] }) }, finish_reason: 'stop' }] })

const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
/** Compares without recursion. */
const depthOf = (value: unknown) => {
  let depth = 0
  for (let at = value; typeof at === 'object' && at !== null; at = (at as { a: unknown }).a) depth += 1
  return depth
}

/** Carried whole, or refused in words and with nothing stored. */
async function wholeOrRefused(work: () => Promise<number>, levels: number) {
  try {
    expect(await work()).toBe(levels)
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof StorageError || error instanceof LLMError)) throw error
    expect(error.message).toMatch(/nested too deeply|of at most 512 levels/)
  }
}

describe.each(allStorages)('on $name', ({ make }) => {
  it.each(DEPTHS)('what is nested %i levels deep is carried whole or refused', async (levels) => {
    const storage = make()
    const deep = JSON.parse(nested(levels)) as Record<string, unknown>
    await wholeOrRefused(async () => {
      await createSession({ storage, id: 'm', metadata: deep })
      return depthOf((await loadSession('m', { storage }))?.meta.metadata)
    }, levels)
    const calling = recording(() => ({ content: null, toolCalls: [{ id: 'c', name: 'f', input: deep }] }))
    const plain = recording(() => ({ content: 'fine' }))
    const session = await createSession({ storage, id: 's', llm: calling })
    await wholeOrRefused(async () => {
      await session.send('one')
      return depthOf((await session.messages())[1]?.toolCalls?.[0]?.input)
    }, levels)
    const openCall = { content: null, toolCalls: [{ id: 'd', name: 'f', input: {} }] }
    session.setLLM(recording(() => openCall))
    const asking = async () => {
      session.setLLM(recording(() => openCall))
      await session.send('call')
      session.setLLM(plain)
    }
    await asking()
    await wholeOrRefused(async () => {
      await session.send({ toolResults: [{ toolCallId: 'd', success: true, data: deep }] })
      return depthOf(JSON.parse((await session.messages()).at(-2)?.content ?? ''))
    }, levels)
    await asking()
    await wholeOrRefused(async () => {
      await session.send(`{"toolResults":[{"toolCallId":"d","success":true,"data":${nested(levels)}}]}`)
      return depthOf(JSON.parse((await session.messages()).at(-2)?.content ?? ''))
    }, levels)
    session.setTools([{ name: 'n', description: 'd', inputSchema: deep }])
    await wholeOrRefused(async () => ((await session.send('tools')).content === 'fine' ? levels : 0), levels)
    session.setTools([])

    session.setLLM(createOpenAICompatibleAdapter(options()))
    answer = openai(null, nested(levels))
    await wholeOrRefused(async () => depthOf((await session.send('native')).toolCalls?.[0]?.input), levels)
    answer = `{"x":${nested(levels)},"choices":[{"message":{"content":"fine"},"finish_reason":"stop"}]}`
    await wholeOrRefused(async () => ((await session.send('deep body')).content === 'fine' ? levels : 0), levels)
    session.setLLM(createAnthropicAdapter({ ...options(), baseURL }))
    answer = `{"type":"message","role":"assistant","stop_reason":"tool_use","content":[{"type":"tool_use","id":"z","name":"f","input":${nested(levels)}}]}`
    await wholeOrRefused(async () => depthOf((await session.send('native')).toolCalls?.[0]?.input), levels)
    session.setLLM(plain)
    expect((await session.send('last')).content).toBe('fine')
    const records = await session.messages()
    expect(records.slice(-2).map(({ content }) => content)).toEqual(['last', 'fine'])
  })

  it(`${megabytes} MB of text goes through every slot and both kinds of model`, { timeout: 60_000 + megabytes * 6_000 }, async () => {
    const storage = make()
    const text = `${'so it goes, '.repeat(20_000)}${'如此这般，'.repeat(20_000)}\u0000"\\`.repeat(Math.ceil((megabytes * 2 ** 20) / 540_000))
    const llm = recording((messages: Message[]) => ({ content: messages.at(-1)?.content ?? null }), 1e12)
    const session = await createSession({ storage, id: 's', label: '', systemPrompt: text, llm, metadata: { text } })
    await session.setInsight(text)
    // Booleans, as a failure must not print it all.
    expect((await session.send(text)).content === text).toBe(true)
    expect(llm.prompts[0]?.map(({ role, content }) => [role, content === text])).toEqual([['system', true], ['system', true], ['user', true]])
    await session.trimRecords(1)
    session.setLLM(createOpenAICompatibleAdapter(options()))
    answer = openai(text)
    expect((await session.send('short')).content === text).toBe(true)
    const { messages } = JSON.parse(asked) as { messages: Message[] }
    expect(messages.map(({ role, content }) => [role, content === text])).toEqual([['system', true], ['assistant', true], ['user', false]])
    const again = await loadSession('s', { storage })
    expect((await again?.messages())?.map(({ content }) => content === text)).toEqual([true, false, true])
    expect([await again?.systemPrompt() === text, again?.meta.metadata.text === text]).toEqual([true, true])
  })

  it('of keys that come twice the last counts, as JSON.parse has it, and no prototype is touched', async () => {
    const storage = make()
    const session = await createSession({ storage, id: 's', llm: createOpenAICompatibleAdapter(options()) })
    answer = openai(null, '{"a":1,"__proto__":{"polluted":1},"a":2,"__proto__":{"polluted":2},"constructor":{"prototype":{"polluted":3}}}')
    const { toolCalls } = await session.send('go')
    const expected = '{"a":2,"__proto__":{"polluted":2},"constructor":{"prototype":{"polluted":3}}}'
    expect(JSON.stringify(toolCalls?.[0]?.input)).toBe(expected)
    expect(JSON.stringify((await session.messages())[1]?.toolCalls?.[0]?.input)).toBe(expected)
    answer = openai('fine')
    const results = '{"toolResults":[],"toolResults":[{"toolCallId":"x","toolCallId":"c","success":false,"success":true,"__proto__":{"success":false},"data":1,"data":{"a":1,"a":2}}]}'
    await session.send(results)
    expect((await session.messages()).slice(2).map(({ role, content }) => [role, content])).toEqual([['tool', expect.stringMatching(/^\{("a":1,)?"a":2\}$/)], ['assistant', 'fine']])
    expect(JSON.parse((JSON.parse(asked) as { messages: Array<{ content: string }> }).messages.at(-1)?.content ?? '')).toEqual({ a: 2 })
    answer = '{"choices":[],"choices":[{"message":{"role":"system","content":"no","content":"last"},"finish_reason":"stop"}],"__proto__":{"polluted":1}}'
    await session.send('doubled').then(({ content }) => expect(content).toBe('last'), (error: unknown) => expect(error).toBeInstanceOf(LLMError))
    expect((await session.messages()).every(({ role }) => role !== 'system')).toBe(true)
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })
})

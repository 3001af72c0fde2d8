import { readdirSync, readFileSync } from 'node:fs'
import { InMemoryStorageAdapter, LLMError } from '@stello-ai/session'
import { describe, expect, it } from 'vitest'
import { adapterOf, completed, streamed, turned, type Outcome } from './outcome.js'
import { withServer } from './server.mjs'

/** What a file holds, found by a reader written apart from the adapters. */
interface Capture {
  protocol: 'openai' | 'anthropic'
  stream: boolean
  text: string
  calls?: Array<[name: string, input: unknown]>
  usage?: [prompt: number, completion: number, cached: number | null] | null
  finish?: string
  reasoning?: string
  error?: string
  status?: number | null
}

const folder = new URL('../captures/', import.meta.url)
const captures: Record<string, Capture> = JSON.parse(readFileSync(new URL('expected.json', folder), 'utf8'))
const all = Object.entries(captures).map(([file, capture]) => ({ file, capture }))
const protocolOf = ({ protocol }: Capture) => (protocol === 'openai' ? 'o' : 'a')

/** The response as it once came, head and all. */
const recorded = (file: string) => [{ raw: true, parts: [readFileSync(new URL(file, folder))] }]

function check(outcome: Outcome, { text, calls = [], usage, finish, reasoning, error, status }: Capture) {
  expect(outcome.pieces?.join('') ?? outcome.content ?? '').toBe(text)
  if (error !== undefined) {
    expect(outcome.error).toBeInstanceOf(LLMError)
    const { message, status: got } = outcome.error as LLMError
    // One server answers an overflow with 200 and nothing.
    expect(message).toBe(status == null ? error || 'the response is empty' : `${status} ${error}`)
    expect(got).toBe(status ?? undefined)
    return
  }
  if (outcome.error !== undefined) throw outcome.error
  const counted = usage && { promptTokens: usage[0], completionTokens: usage[1], ...(usage[2] !== null && { cachedPromptTokens: usage[2] }) }
  expect(outcome.usage).toEqual(counted ?? undefined)
  expect(outcome.finishReason).toBe(finish)
  expect(outcome.reasoning ?? '').toBe(reasoning)
  const read = outcome.calls ?? outcome.fragments?.map(({ id, name, input }) => ({ id, name, input: JSON.parse(input || '{}') })) ?? []
  expect(read.map(({ name, input }) => [name, input])).toEqual(calls)
  expect(new Set(read.map(({ id }) => id)).size).toBe(calls.length)
}

describe('the raw responses of three servers', () => {
  it('are all there', () => {
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.raw'))
    expect(files.toSorted()).toEqual(Object.keys(captures).toSorted())
  })

  it.for(all)('$file gives what it holds to the adapter', async ({ file, capture }) => {
    await withServer(recorded(file), async ({ url }) => {
      const call = capture.stream ? streamed : completed
      check(await call(adapterOf(protocolOf(capture), url, { maxRetries: 0 })), capture)
    })
  })

  it.for(all)('$file gives what it holds to a turn', async ({ file, capture }) => {
    await withServer(recorded(file), async ({ url }) => {
      const storage = new InMemoryStorageAdapter()
      const llm = adapterOf(protocolOf(capture), url, { maxRetries: 0 })
      const { outcome, sessionId } = await turned(storage, llm, capture.stream ? 'stream' : 'complete')
      check(outcome, capture)
      const stored = await storage.listRecords(sessionId)
      expect(stored.map(({ content }) => content)).toEqual(capture.error === undefined ? ['q', capture.text] : [])
    })
  })
})

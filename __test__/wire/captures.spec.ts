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

/** What is expected, in the form that {@link shape} gives an outcome. */
function promised({ text, calls = [], usage, finish, reasoning = '', error, status }: Capture) {
  // One server answers an overflow with 200 and nothing.
  const message = error || 'the response is empty'
  if (error !== undefined) return { text, error: status ? `${status} ${message}` : message, status: status ?? undefined }
  const [promptTokens, completionTokens, cachedPromptTokens] = usage ?? []
  const counted = usage && { promptTokens, completionTokens, ...(cachedPromptTokens !== null && { cachedPromptTokens }) }
  return { text, calls, ids: calls.length, usage: counted ?? undefined, finish, reasoning }
}

function shape({ pieces, content, error, calls, fragments, usage, finishReason: finish, reasoning = '' }: Outcome) {
  const text = pieces?.join('') ?? content ?? ''
  if (error instanceof LLMError) return { text, error: error.message, status: error.status }
  const read = calls ?? fragments?.map(({ id, name, input }) => ({ id, name, input: JSON.parse(input || '{}') })) ?? []
  return { text, calls: read.map(({ name, input }) => [name, input]), ids: new Set(read.map(({ id }) => id)).size, usage, finish, reasoning, error }
}

describe('the raw responses of three servers', () => {
  it('are all there', () => {
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.raw'))
    expect(files.toSorted()).toEqual(Object.keys(captures).toSorted())
  })

  it.for(all)('$file gives what it holds to the adapter', async ({ file, capture }) => {
    await withServer(recorded(file), async ({ url }) => {
      const call = capture.stream ? streamed : completed
      expect(shape(await call(adapterOf(protocolOf(capture), url, { maxRetries: 0 })))).toEqual(promised(capture))
    })
  })

  it.for(all)('$file gives what it holds to a turn', async ({ file, capture }) => {
    await withServer(recorded(file), async ({ url }) => {
      const storage = new InMemoryStorageAdapter()
      const llm = adapterOf(protocolOf(capture), url, { maxRetries: 0 })
      const { outcome, sessionId } = await turned(storage, llm, capture.stream ? 'stream' : 'complete')
      expect(shape(outcome)).toEqual(promised(capture))
      const stored = await storage.listRecords(sessionId)
      expect(stored.map(({ content }) => content)).toEqual(capture.error === undefined ? ['q', capture.text] : [])
    })
  })
})

// @ts-check
// The yardstick: what plain JavaScript over the providers' own clients costs at the very least.
//
// A session of it puts the prompt together, calls the client once and keeps two records, as the package does; it
// neither queues, nor checks, nor compresses, nor survives a failure. It stands for no package that exists: whoever
// does the same job in JavaScript pays this, and then what the job takes besides.
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { MapStorage } from './map-storage.mjs'

/** @import { AnthropicAdapterOptions, CreateSessionOptions, LLMAdapter, Message, OpenAICompatibleOptions } from '@stello-ai/session' */

export { MapStorage as InMemoryStorageAdapter }

/** @param {{ apiKey?: string, baseURL: string, model: string, maxContextTokens: number }} options */
export function createOpenAICompatibleAdapter({ apiKey, baseURL, model, maxContextTokens }) {
  const client = new OpenAI({ apiKey, baseURL })
  const body = (/** @type {Message[]} */ messages) => ({
    model,
    max_tokens: 4096,
    messages: messages.map(({ role, content }) => /** @type {OpenAI.ChatCompletionMessageParam} */ ({ role, content })),
  })
  return {
    maxContextTokens,
    async complete(/** @type {Message[]} */ messages) {
      const { choices, usage } = await client.chat.completions.create({ ...body(messages), stream: false })
      return { content: choices[0]?.message.content ?? null, usage: { promptTokens: usage?.prompt_tokens ?? 0, completionTokens: usage?.completion_tokens ?? 0 } }
    },
    async *stream(/** @type {Message[]} */ messages) {
      for await (const chunk of await client.chat.completions.create({ ...body(messages), stream: true })) {
        const delta = chunk.choices[0]?.delta.content
        if (delta) yield { delta }
      }
    },
  }
}

/** @param {{ apiKey?: string, baseURL: string, model: string, maxContextTokens: number }} options */
export function createAnthropicAdapter({ apiKey, baseURL, model, maxContextTokens }) {
  const client = new Anthropic({ apiKey, baseURL })
  const body = (/** @type {Message[]} */ messages) => ({
    model,
    max_tokens: 4096,
    system: messages.filter(({ role }) => role === 'system').map(({ content }) => content).join('\n\n'),
    messages: messages.filter(({ role }) => role !== 'system').map(({ role, content }) => /** @type {Anthropic.MessageParam} */ ({ role, content })),
  })
  return {
    maxContextTokens,
    async complete(/** @type {Message[]} */ messages) {
      const { content, usage } = await client.messages.create(body(messages))
      return { content: content.map((block) => (block.type === 'text' ? block.text : '')).join(''), usage: { promptTokens: usage.input_tokens, completionTokens: usage.output_tokens } }
    },
    async *stream(/** @type {Message[]} */ messages) {
      for await (const event of client.messages.stream(body(messages))) {
        if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') yield { delta: event.delta.text }
      }
    },
  }
}

/** @param {{ storage: MapStorage, llm: Required<LLMAdapter>, label: string, systemPrompt?: string }} options */
export async function createSession({ storage, llm, label, systemPrompt }) {
  const id = crypto.randomUUID()
  const now = new Date().toISOString()
  /** @type {import('@stello-ai/session').SessionMeta} */
  const meta = { id, label, role: 'standard', status: 'active', tags: [], metadata: {}, createdAt: now, updatedAt: now }
  await storage.putSession(meta)
  if (systemPrompt) await storage.putSystemPrompt(id, systemPrompt)

  async function assemble(/** @type {string} */ content) {
    const system = await storage.getSystemPrompt(id)
    const insight = await storage.getInsight(id)
    /** @type {Message[]} */
    const messages = []
    if (system !== null) messages.push({ role: 'system', content: system })
    messages.push({ role: 'system', content: `<session_identity>${label}</session_identity>` })
    if (insight !== null) {
      messages.push({ role: 'system', content: insight })
      await storage.clearInsight(id)
    }
    return [...messages, ...(await storage.listRecords(id)), /** @type {Message} */ ({ role: 'user', content, timestamp: new Date().toISOString() })]
  }

  async function keep(/** @type {Message | undefined} */ said, /** @type {string | null} */ answer) {
    if (said !== undefined) await storage.appendRecord(id, said)
    await storage.appendRecord(id, { role: 'assistant', content: answer ?? '', timestamp: new Date().toISOString() })
  }

  return {
    meta,
    async send(/** @type {string} */ content) {
      const messages = await assemble(content)
      const result = await llm.complete(messages)
      await keep(messages.at(-1), result.content)
      return result
    },
    stream(/** @type {string} */ content) {
      /** @type {(result: { content: string }) => void} */
      let settle
      const result = new Promise((resolve) => (settle = resolve))
      return {
        result,
        async *[Symbol.asyncIterator]() {
          const messages = await assemble(content)
          let text = ''
          for await (const { delta } of llm.stream(messages)) {
            text += delta
            yield delta
          }
          await keep(messages.at(-1), text)
          settle({ content: text })
        },
      }
    },
  }
}

// The model behind the examples: a real one where OPENAI_API_KEY is set (OPENAI_BASE_URL and OPENAI_MODEL are honoured),
// else a server on this machine that plays scripted answers, so that the examples run without a key.
import { createGPT, createOpenAICompatibleAdapter } from '@stello-ai/session'
import { startScriptedModel } from './scripted-model.mjs'

/** @import { LLMAdapter, Message } from '@stello-ai/session' */

/**
 * @typedef {object} Provider
 * @property {string} name what is talked to, for people
 * @property {LLMAdapter} llm
 * @property {() => { role: string, content: string }[]} received the messages of the last request
 * @property {() => Promise<void>} stop
 */

/** @returns {Promise<Provider>} */
export function startProvider() {
  const apiKey = process.env.OPENAI_API_KEY
  return apiKey === undefined || apiKey === '' ? useScript() : Promise.resolve(useOpenAI(apiKey))
}

/**
 * @param {string} apiKey
 * @returns {Provider}
 */
function useOpenAI(apiKey) {
  const model = process.env.OPENAI_MODEL ?? 'gpt-4o-mini'
  const baseURL = process.env.OPENAI_BASE_URL
  const options = { model, apiKey, maxContextTokens: 128_000 }
  const native = baseURL === undefined ? createGPT(options) : createOpenAICompatibleAdapter({ ...options, baseURL })
  /** @type {Message[]} */
  let last = []
  /** @type {LLMAdapter} */
  const llm = {
    ...native,
    stream(messages, settings) {
      last = messages
      if (native.stream === undefined) throw new TypeError('the adapter has no stream()')
      return native.stream(messages, settings)
    },
  }
  return { name: `${model} at ${baseURL ?? 'OpenAI'}`, llm, received: () => last, stop: async () => {} }
}

/** @returns {Promise<Provider>} */
async function useScript() {
  const { url, received, stop } = await startScriptedModel()
  const llm = createOpenAICompatibleAdapter({ baseURL: url, model: 'scripted', apiKey: '', maxContextTokens: 128_000 })
  return { name: `a scripted model at ${url} (set OPENAI_API_KEY for a real one)`, llm, received, stop }
}

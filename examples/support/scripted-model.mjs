// A server on this machine that speaks OpenAI's Chat Completions and plays scripted answers.
import { LLMock } from '@copilotkit/aimock'

/** @import { ChatCompletionRequest } from '@copilotkit/aimock' */

/** At the speed of a brisk model, in milliseconds to the first piece and pieces a second. */
const PACE = { ttft: 120, tps: 60 }

export async function startScriptedModel(pace = PACE) {
  const server = new LLMock({ host: '127.0.0.1', port: 0, chunkSize: 6 })
  server.on({}, (request) => ({ content: answer(request) }), { streamingProfile: pace })
  await server.start()
  return {
    url: `${server.url}/v1`,
    /** The messages of the last request, as they came over the wire. */
    received: () => messagesOf(server.getLastRequest()?.body),
    stop: () => server.stop(),
  }
}

/**
 * What the scripted model says. It knows nothing but the request, so its answers show what the session sent.
 *
 * @param {ChatCompletionRequest} request
 */
function answer(request) {
  const messages = messagesOf(request)
  const question = messages.at(-1)?.content ?? ''
  const told = messages.slice(0, -1).map(({ content }) => content).join('\n')
  const name = /\bI am (\p{Lu}\p{L}*)/u.exec(told)?.[1]
  if (/\bI am \p{Lu}/u.test(question)) {
    return 'Nice to meet you! Kyoto in April is the time of the cherry blossoms. What would you like to see there?'
  }
  if (/my name/i.test(question)) {
    return name === undefined ? 'You have not told me your name yet.' : `You are ${name}, and you are going to Kyoto in April. I have it all here in our conversation.`
  }
  if (/first/i.test(question)) {
    return /quiet/i.test(told)
      ? 'Start at Honen-in before eight in the morning: moss, sand, and hardly a soul. I was told that you like it quiet.'
      : 'Start at Kiyomizu-dera, like everybody else: the view over the city is worth the crowd.'
  }
  if (/eat|food/i.test(question)) {
    return name === undefined ? 'Where are you going?' : `In Kyoto, ${name}? Have yudofu near Nanzen-ji, and matcha with it.`
  }
  return `You said "${question}". I am only a script, but I was sent ${messages.length} messages to answer it.`
}

/**
 * @param {unknown} body of a request of OpenAI's Chat Completions
 * @returns {{ role: string, content: string }[]}
 */
function messagesOf(body) {
  const { messages = [] } = /** @type {Partial<ChatCompletionRequest>} */ (body ?? {})
  return messages.map(({ role, content }) => ({ role, content: typeof content === 'string' ? content : JSON.stringify(content) }))
}

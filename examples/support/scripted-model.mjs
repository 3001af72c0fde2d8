// A server on this machine that speaks OpenAI's Chat Completions and plays scripted answers.
import { LLMock } from '@copilotkit/aimock'

/** @import { ChatCompletionRequest } from '@copilotkit/aimock' */

/** At the speed of a brisk model, in milliseconds to the first piece and pieces a second. */
const PACE = { ttft: 120, tps: 60 }

export async function startScriptedModel(pace = PACE) {
  const server = new LLMock({ host: '127.0.0.1', port: 0, chunkSize: 6 })
  server.on({}, respond, { streamingProfile: pace })
  await server.start()
  return {
    url: `${server.url}/v1`,
    /** The messages of the last request, as they came over the wire. */
    received: () => messagesOf(server.getLastRequest()?.body),
    stop: () => server.stop(),
  }
}

/** @param {ChatCompletionRequest} request */
function respond(request) {
  const toolCalls = calls(request)
  return toolCalls.length > 0 ? { toolCalls } : { content: answer(request) }
}

/**
 * What the scripted model asks for before it answers: two things at once, then a third.
 *
 * @param {ChatCompletionRequest} request
 */
function calls({ messages, tools = [] }) {
  if (!tools.some((tool) => tool.function.name === 'weather')) return []
  const results = messages.length - 1 - messages.findLastIndex(({ role }) => role !== 'tool')
  const question = messages.findLastIndex(({ role }) => role === 'user')
  if (question === messages.length - 1) return [weather('Kyoto'), weather('Nara')]
  return results === 2 ? [{ name: 'train_fare', arguments: JSON.stringify({ to: 'Nara' }) }] : []
}

/** @param {string} city */
function weather(city) {
  return { name: 'weather', arguments: JSON.stringify({ city }) }
}

/**
 * What the scripted model says. It knows nothing but the request, so its answers show what the session sent.
 *
 * @param {ChatCompletionRequest} request
 */
function answer(request) {
  const messages = messagesOf(request)
  const question = messages.at(-1)?.content ?? ''
  if (messages.at(-1)?.role === 'tool') {
    const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
    return `Here is what I found out: ${results.join('; ')}.`
  }
  const task = messages[0]?.content ?? ''
  if (task.startsWith('Sum up')) return `The user said: ${saidBy(question).join(' ')}`
  if (task.startsWith('Look over')) return `From another conversation: ${question}`
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
 * @param {string} history as JSON
 * @returns {string[]} what the user said in it
 */
function saidBy(history) {
  /** @type {{ role: string, content: string }[]} */
  const messages = JSON.parse(history)
  return messages.filter(({ role }) => role === 'user').map(({ content }) => content)
}

/**
 * @param {unknown} body of a request of OpenAI's Chat Completions
 * @returns {{ role: string, content: string }[]}
 */
function messagesOf(body) {
  const { messages = [] } = /** @type {Partial<ChatCompletionRequest>} */ (body ?? {})
  return messages.map(({ role, content }) => ({ role, content: typeof content === 'string' ? content : JSON.stringify(content) }))
}

// A conversation with tools: node examples/tool-loop.mjs
//
// The session calls the model; running what the model asks for is up to the application. Every call gets a result, also
// when its tool fails or does not exist: the model reads it and goes on.
import { createSession, InMemoryStorageAdapter, tool } from '@stello-ai/session'
import { z } from 'zod'
import { startProvider } from './support/provider.mjs'

/** @import { SendResult, Session, ToolCall, ToolResult } from '@stello-ai/session' */

const forecasts = new Map([['Kyoto', 'rain, 12 °C'], ['Nara', 'sunny, 15 °C']])

const tools = [
  tool('weather', 'Tomorrow\'s weather in a city', { city: z.string() }, async ({ city }) => {
    const forecast = forecasts.get(city)
    if (forecast === undefined) throw new Error(`there is no forecast for ${city}`)
    return { output: `${city}: ${forecast}` }
  }),
  tool('train_fare', 'What the train from Kyoto costs, in yen', { to: z.string() }, async () => {
    throw new Error('the timetable is not available at the moment')
  }),
]

/** A model that goes on asking would go on for ever. */
const MOST_ROUNDS = 10

/**
 * Sends a text, runs the tools that the model asks for, sends their results, and so on until it asks for none.
 *
 * @param {Session} session
 * @param {string} text
 * @param {AbortSignal} [signal]
 * @returns {Promise<SendResult>}
 */
async function converse(session, text, signal) {
  let answer = await session.send(text, { signal })
  for (let round = 0; answer.toolCalls !== undefined; round += 1) {
    if (round === MOST_ROUNDS) throw new Error(`the model still asks for tools after ${MOST_ROUNDS} rounds`)
    const toolResults = await Promise.all(answer.toolCalls.map(run))
    answer = await session.send({ toolResults }, { signal })
  }
  return answer
}

/**
 * @param {ToolCall} call
 * @returns {Promise<ToolResult>}
 */
async function run({ id, name, input }) {
  console.log(`tool       ${name}(${JSON.stringify(input)})`)
  try {
    const known = tools.find((each) => each.name === name)
    if (known === undefined) throw new Error(`there is no tool ${name}`)
    // The model's arguments are checked like any other input from outside.
    const { output } = await known.execute(/** @type {any} */ (known.inputSchema.parse(input)))
    return { toolCallId: id, success: true, data: output }
  } catch (error) {
    return { toolCallId: id, success: false, error: error instanceof Error ? error.message : String(error) }
  }
}

const provider = await startProvider()
try {
  const session = await createSession({ storage: new InMemoryStorageAdapter(), llm: provider.llm, tools, label: 'Day trip' })
  const question = 'Shall I see Kyoto or Nara tomorrow? Look at the weather, and at what the train to the better one costs.'
  console.log(`user       ${question}`)
  const { content } = await converse(session, question)
  console.log(`assistant  ${content}`)
  const stored = await session.messages()
  console.log(`\nstored: ${stored.map(({ role, isError }) => (isError ? `${role} (failed)` : role)).join(', ')}`)
} finally {
  await provider.stop()
}

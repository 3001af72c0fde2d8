import { LLMock, type ChatCompletionRequest } from '@copilotkit/aimock'

/**
 * A model for the code in the documentation, on this machine and in both protocols. It says what it was told; where it has a
 * tool and was not answered yet, it calls it, for Kyoto.
 */
export async function startEchoModel() {
  const server = new LLMock({ host: '127.0.0.1', port: 0, chunkSize: 8 })
  server.on({}, answer)
  await server.start()
  const env = {
    OPENAI_BASE_URL: `${server.url}/v1`,
    OPENAI_API_KEY: 'key-for-tests',
    ANTHROPIC_BASE_URL: server.url,
    ANTHROPIC_API_KEY: 'key-for-tests',
  }
  return { env, stop: () => server.stop() }
}

function answer({ messages, tools = [] }: ChatCompletionRequest) {
  const last = messages.at(-1)
  const text = typeof last?.content === 'string' ? last.content : JSON.stringify(last?.content)
  if (last?.role === 'tool') return { content: `The tool says: ${text}` }
  const called = tools[0]?.function.name
  if (called !== undefined) return { toolCalls: [{ name: called, arguments: JSON.stringify({ city: 'Kyoto' }) }] }
  return { content: `You said: ${text}` }
}

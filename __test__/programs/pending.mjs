// Has nothing to do but to wait for one turn, whose model takes its time: process.argv[2] says which.
import { createOpenAICompatibleAdapter, createSession, InMemoryStorageAdapter } from '@stello-ai/session'

const [which, baseURL] = process.argv.slice(2)
const javaScript = { maxContextTokens: 1000, complete: () => new Promise((resolve) => void setTimeout(resolve, 100, { content: 'late' }).unref()) }
const native = createOpenAICompatibleAdapter({ baseURL, model: 'm', apiKey: '', maxContextTokens: 1000 })
const llm = which === 'javascript' ? /** @type {any} */ (javaScript) : native

void (async () => {
  if (which === 'adapter') return console.log((await native.complete([{ role: 'user', content: 'hello' }])).content)
  const session = await createSession({ storage: new InMemoryStorageAdapter(), llm })
  if (which !== 'stream') return console.log((await session.send('hello')).content)
  for await (const piece of session.stream('hello')) console.log(piece)
})()

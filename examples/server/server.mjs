// A chat in the browser, on Express:
//
//   cd examples/server && npm start
//
// In a copy of this folder, leave out `prestart` and name a version of @stello-ai/session in package.json.
//
// PORT says where to listen (3000), CONVERSATIONS names the SQLite file (conversations.db).
import { fileURLToPath } from 'node:url'
import { createSession, loadSession, SqliteStorageAdapter } from '@stello-ai/session'
import express from 'express'
import { startProvider } from '../support/provider.mjs'

const provider = await startProvider()
const storage = new SqliteStorageAdapter({ path: process.env.CONVERSATIONS ?? 'conversations.db' })
const { llm } = provider

const app = express()
app.use(express.json())
app.use(express.static(fileURLToPath(new URL('public', import.meta.url))))

// The browser makes the id of its conversation. Whoever knows it can read it: put a login of your own in front.
app.param('id', (request, response, next, id) => {
  if (/^[\da-f-]{36}$/.test(id)) next()
  else response.status(400).json({ error: 'the id must be a UUID' })
})

/** @param {string} id */
async function conversation(id) {
  return (await loadSession(id, { storage, llm })) ?? (await createSession({ storage, llm, id, label: 'Chat', systemPrompt: 'You are a helpful companion.' }))
}

app.get('/conversations/:id', async (request, response) => {
  const session = await loadSession(request.params.id, { storage })
  const messages = (await session?.messages()) ?? []
  response.json(messages.map(({ role, content }) => ({ role, content })))
})

// The answer goes out as it comes, one JSON document a line: {"piece": …}, and {"done": true} or {"error": …} at the end.
app.post('/conversations/:id', async (request, response) => {
  const { text } = request.body ?? {}
  if (typeof text !== 'string' || text === '') {
    response.status(400).json({ error: 'text must be a string that is not empty' })
    return
  }
  const stop = new AbortController()
  response.on('close', () => stop.abort()) // the browser went away, or all was sent
  const session = await conversation(request.params.id)
  response.type('application/x-ndjson').set('cache-control', 'no-store').flushHeaders()
  const say = (line) => response.write(`${JSON.stringify(line)}\n`)
  try {
    for await (const piece of session.stream(text, { signal: stop.signal })) say({ piece })
    say({ done: true })
  } catch (error) {
    // Nothing of the turn was stored. What went wrong is for the log; the browser is told that it may try again.
    if (!stop.signal.aborted) console.error(error)
    say({ error: 'the model did not answer' })
  }
  response.end()
})

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`Talking to ${provider.name}\nhttp://127.0.0.1:${server.address().port}`)
})

process.once('SIGTERM', close).once('SIGINT', close)

async function close() {
  server.close()
  server.closeAllConnections() // turns under way are aborted
  await storage.close()
  await provider.stop()
}

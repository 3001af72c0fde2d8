// A chat in the terminal: npm run chat
import { createInterface } from 'node:readline/promises'
import { createSession, InMemoryStorageAdapter } from '@stello-ai/session'
import { startProvider } from './support/provider.mjs'
import { printAnswer, showMessages } from './support/terminal.mjs'

const HELP = `Type a message, or a command:
  /insight TEXT   a note for the model, shown to it once
  /fork LABEL     go on in a copy of this conversation
  /context        what the model was sent last
  /history        what is stored
  /quit
Ctrl-C stops an answer, and at the prompt the chat.`

const provider = await startProvider()
let session = await createSession({
  storage: new InMemoryStorageAdapter(),
  llm: provider.llm,
  label: 'Chat',
  systemPrompt: 'You are a helpful companion. Answer briefly.',
})

console.log(`Talking to ${provider.name}\n${HELP}`)
const terminal = createInterface({ input: process.stdin, output: process.stdout })
try {
  ask()
  for await (const line of terminal) {
    if (line.trim() === '/quit') break
    if (line.trim() !== '') await handle(line.trim())
    ask()
  }
} finally {
  terminal.close()
  await provider.stop()
}

function ask() {
  terminal.setPrompt(`\n${session.meta.label}> `)
  terminal.prompt()
}

/** @param {string} line */
async function handle(line) {
  const [command, text] = /^(\/\w+)\s*(.*)$/s.exec(line)?.slice(1) ?? ['', line]
  switch (command) {
    case '':
      return answer(line)
    case '/insight':
      return session.setInsight(text ?? '')
    case '/fork':
      session = await session.fork({ label: text || 'Fork', context: 'inherit' })
      return
    case '/context':
      return showMessages(provider.received())
    case '/history':
      return showMessages(await session.messages())
    default:
      console.log(HELP)
  }
}

/** @param {string} text */
async function answer(text) {
  const stop = new AbortController()
  const interrupt = () => stop.abort()
  terminal.once('SIGINT', interrupt)
  try {
    await printAnswer(session, text, stop.signal)
  } catch (error) {
    // Nothing of a failed or stopped turn is stored, so the chat can just go on.
    console.log(stop.signal.aborted ? '(stopped)' : String(error))
  } finally {
    terminal.off('SIGINT', interrupt)
  }
}

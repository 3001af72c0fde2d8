// A conversation from beginning to end: npm run demo
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createSession, loadSession, SqliteStorageAdapter } from '@stello-ai/session'
import { startProvider } from './support/provider.mjs'
import { heading, say, showMessages } from './support/terminal.mjs'

// The demo starts itself a second time, with the file and the id of the session, to go on after a restart.
const [file, id] = process.argv.slice(2)
if (file === undefined || id === undefined) await holdConversation()
else await goOn(file, id)

async function holdConversation() {
  const folder = mkdtempSync(join(tmpdir(), 'stello-demo-'))
  const path = join(folder, 'conversations.db')
  try {
    const sessionId = await converse(path)
    heading('The process ends; another one opens the file and goes on')
    const { status } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), path, sessionId], { stdio: 'inherit' })
    process.exitCode = status ?? 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** @param {string} path */
async function converse(path) {
  const provider = await startProvider()
  const storage = new SqliteStorageAdapter({ path })
  console.log(`Talking to ${provider.name}\nKeeping everything in ${path}`)
  try {
    const session = await createSession({
      storage,
      llm: provider.llm,
      label: 'Kyoto',
      systemPrompt: 'You are a travel companion. Answer in one or two sentences.',
    })

    heading('Answers come in pieces, and the session remembers')
    await say(session, 'Hello! I am Mei, and I am going to Kyoto in April.')
    await say(session, 'Do you still know my name, and where I am going?')

    heading('What the model was sent for that')
    showMessages(provider.received())

    heading('An insight is shown to the model once')
    await session.setInsight('The user loves quiet places and avoids crowds.')
    console.log(`waiting insight: ${await session.insight()}\n`)
    await say(session, 'Where should I go first?')
    showMessages(provider.received().slice(0, -1).filter(({ role }) => role === 'system'))
    console.log(`waiting insight: ${await session.insight()}`)

    heading('A fork inherits the conversation, and goes its own way')
    const food = await session.fork({ label: 'Food in Kyoto', context: 'inherit', prompt: 'Let us talk about food.' })
    await say(food, 'What should I eat?')
    showMessages(provider.received())
    heading(`The history of "${food.meta.label}"`)
    showMessages(await food.messages())
    return session.meta.id
  } finally {
    await storage.close()
    await provider.stop()
  }
}

/**
 * @param {string} path
 * @param {string} sessionId
 */
async function goOn(path, sessionId) {
  const provider = await startProvider()
  const storage = new SqliteStorageAdapter({ path })
  try {
    const session = await loadSession(sessionId, { storage, llm: provider.llm })
    if (session === null) throw new Error(`there is no session ${sessionId} in ${path}`)
    console.log(`process ${process.pid} has loaded "${session.meta.label}"\n`)
    await say(session, 'I am back. What was my name again?')
    heading(`The history of "${session.meta.label}"`)
    showMessages(await session.messages())
  } finally {
    await storage.close()
    await provider.stop()
  }
}

// A chat in the terminal that resumes where it stopped: npm run chat
//
//   npm run chat -- FILE   keeps the conversations in FILE instead of chat.db
import { createInterface } from 'node:readline/promises'
import { createSession, forkSession, loadSession, SqliteStorageAdapter } from '@stello-ai/session'
import { startProvider } from './support/provider.mjs'
import { printAnswer, showMessages } from './support/terminal.mjs'

/** @import { Session, TopologyNode } from '@stello-ai/session' */

const HELP = `Type a message, or a command:
  /insight TEXT   a note for the model, shown to it once
  /fork LABEL     go on in a copy of this conversation
  /tree           all conversations, and which came from which
  /open NUMBER    go on in another one of the tree
  /new LABEL      begin a new one
  /context        what the model was sent last
  /history        what is stored
  /help
  /quit
Ctrl-C stops an answer, and at the prompt the chat.`

/** Under this key the storage knows which conversation was open last. */
const LAST_OPEN = 'chat.open'

const path = process.argv[2] ?? 'chat.db'
const storage = new SqliteStorageAdapter({ path })
const provider = await startProvider()
let session = await resume()

console.log(`Talking to ${provider.name}\nKeeping everything in ${path}\n${HELP}`)
const stored = await session.messages()
if (stored.length > 0) {
  console.log(`\nYou were here:`)
  showMessages(stored.slice(-4))
}
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
  await storage.close()
  await provider.stop()
}

async function resume() {
  const id = await storage.getGlobal(LAST_OPEN)
  const found = typeof id === 'string' ? await load(id) : null
  return found ?? begin('Chat')
}

/** @param {string} id */
function load(id) {
  return loadSession(id, { storage, llm: provider.llm })
}

/** @param {string} label */
async function begin(label) {
  const made = await createSession({
    storage,
    llm: provider.llm,
    parentId: null,
    label,
    systemPrompt: 'You are a helpful companion. Answer briefly.',
  })
  await storage.putGlobal(LAST_OPEN, made.meta.id)
  return made
}

/** @param {Session} next */
async function goTo(next) {
  session = next
  await storage.putGlobal(LAST_OPEN, next.meta.id)
}

function ask() {
  terminal.setPrompt(`\n${session.meta.label}> `)
  terminal.prompt()
}

/** @param {string} line */
async function handle(line) {
  const [command, text = ''] = /^(\/\w+)\s*(.*)$/s.exec(line)?.slice(1) ?? ['', line]
  switch (command) {
    case '':
      return answer(line)
    case '/insight':
      return session.setInsight(text)
    case '/fork':
      return goTo(await forkSession(session, { label: text || 'Fork', context: 'inherit' }))
    case '/new':
      return goTo(await begin(text || 'Chat'))
    case '/tree':
      return showTree(await tree(null, 0))
    case '/open':
      return open(Number(text))
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

/**
 * The forest in the order in which it is shown, with depths.
 *
 * @param {string | null} parentId
 * @param {number} depth
 * @returns {Promise<{ node: TopologyNode, depth: number }[]>}
 */
async function tree(parentId, depth) {
  const rows = []
  for (const node of await storage.getChildren(parentId)) rows.push({ node, depth }, ...(await tree(node.id, depth + 1)))
  return rows
}

/** @param {{ node: TopologyNode, depth: number }[]} rows */
function showTree(rows) {
  for (const [index, { node, depth }] of rows.entries()) {
    const here = node.id === session.meta.id ? '*' : ' '
    console.log(`${String(index + 1).padStart(3)} ${here} ${'  '.repeat(depth)}${node.label}`)
  }
}

/** @param {number} number in the tree */
async function open(number) {
  const row = (await tree(null, 0))[number - 1]
  const found = row === undefined ? null : await load(row.node.id)
  if (found === null) console.log('There is no such number; /tree shows them.')
  else await goTo(found)
}

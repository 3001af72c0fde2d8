// @ts-check
'use strict'

// A conversation, whichever way an application came by the package: sent and streamed, in memory and on disk.
const { mkdtempSync, rmSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { join } = require('node:path')

/** @param {typeof import('@stello-ai/session')} session */
exports.converse = async ({ createGPT, createSession, InMemoryStorageAdapter, loadSession, SqliteStorageAdapter }) => {
  const folder = mkdtempSync(join(tmpdir(), 'stello-conversation-'))
  const llm = createGPT({ model: 'gpt-4o-mini' })
  const said = []
  for (const storage of [new InMemoryStorageAdapter(), new SqliteStorageAdapter({ path: join(folder, 'conversations.db') })]) {
    const { meta, send } = await createSession({ storage, llm })
    const { content } = await send('hello')
    const again = await loadSession(meta.id, { storage, llm })
    let streamed = ''
    for await (const piece of again?.stream('are you there?') ?? []) streamed += piece
    said.push({ content, streamed, stored: (await again?.messages())?.length })
    storage.close()
  }
  rmSync(folder, { recursive: true })
  return said
}

const turns = { content: 'You said: hello', streamed: 'You said: are you there?', stored: 4 }
exports.expected = [turns, turns]

// The suite that the package's own storages pass, on a storage of one's own: node --test examples/custom-storage
import assert from 'node:assert/strict'
import { appendFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createSession, loadSession } from '@stello-ai/session'
import { storageConformance } from '@stello-ai/session/conformance'
import { JournalStorage } from './journal-storage.mjs'

const folder = await mkdtemp(join(tmpdir(), 'journal-storage-'))
after(() => rm(folder, { recursive: true }))

let count = 0
const newPath = () => join(folder, `${(count += 1)}.journal`)

const cases = storageConformance(() => JournalStorage.open(newPath()), {
  features: ['main', 'isolation', 'forest', 'compressionCache'],
  dispose: (storage) => storage.close(),
})
for (const { name, run } of cases) test(name, run)

/** @type {import('@stello-ai/session').LLMAdapter} */
const llm = { maxContextTokens: 8_000, complete: async (messages) => ({ content: `You said: ${messages.at(-1)?.content}` }) }

test('a conversation survives a restart, and half a line at the end of the journal', async () => {
  const path = newPath()
  const storage = await JournalStorage.open(path)
  const session = await createSession({ storage, llm, id: 'mei', systemPrompt: 'Be brief.', parentId: null })
  await session.send('Hello!')
  await storage.close()
  await appendFile(path, '[["appendRecord","mei",{"role":"user","con')

  const reopened = await JournalStorage.open(path)
  const again = await loadSession('mei', { storage: reopened, llm })
  await again?.send('Are you still there?')
  assert.deepEqual((await again?.messages())?.map(({ role }) => role), ['user', 'assistant', 'user', 'assistant'])
  assert.equal(await again?.systemPrompt(), 'Be brief.')
  assert.deepEqual(await reopened.getChildren(null), [{ id: 'mei', parentId: null, label: 'New Session' }])
  await reopened.close()

  const third = await JournalStorage.open(path)
  assert.equal((await third.listRecords('mei')).length, 4)
  await third.close()
})

// @ts-check
// Memory of many histories in an `InMemoryStorageAdapter`: node --expose-gc bench/memory.mjs MODULE [options].
// Prints one line of JSON.
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { load, measuredPath, tell } from './measured.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sessions: { type: 'string', default: '1000' },
    messages: { type: 'string', default: '1000' }, // of each session, of 400 characters each
    chinese: { type: 'boolean', default: false },
  },
})
const { InMemoryStorageAdapter } = await load(measuredPath(positionals))
const filling = values.chinese ? '委员会审阅了季度数据并要求在下次会议之前给出明细' : 'the committee asked for a breakdown by region '

const before = await settled()
const storage = new InMemoryStorageAdapter()
for (let session = 0; session < Number(values.sessions); session++) {
  const id = `session-${session}`
  const now = new Date().toISOString()
  await storage.putSession({ id, label: id, role: 'standard', status: 'active', tags: [], metadata: {}, createdAt: now, updatedAt: now })
  for (let n = 0; n < Number(values.messages); n++) {
    await storage.appendRecord(id, { role: n % 2 === 0 ? 'user' : 'assistant', content: text(session, n), timestamp: new Date().toISOString() })
  }
}
const count = Number(values.sessions) * Number(values.messages)
const bytes = (await settled()) - before
tell({ messages: count, megabytes: bytes / 1e6, bytesPerMessage: bytes / count })
// So that nothing of it was collected before.
await storage.getSession('session-0')

/** A string of its own, not a chain of pieces, as one that came from a network is. */
function text(/** @type {number} */ session, /** @type {number} */ n) {
  return JSON.parse(JSON.stringify(`${session} ${n} `.padEnd(400, filling)))
}

/** What the process occupies once it has collected its garbage. */
async function settled() {
  for (let n = 0; n < 5; n++) {
    globalThis.gc?.()
    await setTimeout(50)
  }
  return process.memoryUsage.rss()
}

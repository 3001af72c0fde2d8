// Copies all conversations from one storage to another:
//
//   node examples/move-storage.mjs conversations.db postgres://user:password@host/database
//
// Each session is copied in a transaction of its own, and what is there already is left alone: after an interruption, or
// once more before switching over, run it again.
import { pathToFileURL } from 'node:url'
import { PostgresStorageAdapter, SqliteStorageAdapter } from '@stello-ai/session'

/** @import { NativeStorage } from '@stello-ai/session' */

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [from, to] = process.argv.slice(2)
  if (from === undefined || to === undefined) {
    console.error('node examples/move-storage.mjs FROM TO: each a file or a postgres:// URL')
    process.exitCode = 2
  } else {
    const [source, target] = [open(from), open(to)]
    try {
      console.log(`${await copySessions(source, target)} sessions copied`)
    } finally {
      await Promise.all([source.close(), target.close()])
    }
  }
}

/** @param {string} place */
function open(place) {
  return /^postgres(ql)?:/.test(place) ? new PostgresStorageAdapter({ connectionString: place }) : new SqliteStorageAdapter({ path: place })
}

/**
 * @param {NativeStorage} from
 * @param {NativeStorage} to
 * @returns {Promise<number>} how many sessions were copied
 */
export async function copySessions(from, to) {
  let copied = 0
  const sessions = await from.listSessions()
  for (const meta of sessions) {
    const { id } = meta
    const [records, systemPrompt, insight, memory] = await Promise.all([
      from.listRecords(id),
      from.getSystemPrompt(id),
      from.getInsight(id),
      from.getMemory(id),
    ])
    const isNew = await to.transaction(async (tx) => {
      if ((await tx.getSession(id)) !== null) return false
      await tx.putSession(meta)
      for (const record of records) await tx.appendRecord(id, record)
      if (systemPrompt !== null) await tx.putSystemPrompt(id, systemPrompt)
      if (insight !== null) await tx.putInsight(id, insight)
      if (memory !== null) await tx.putMemory(id, memory)
      return true
    })
    if (isNew) copied += 1
  }

  // The forest, from its roots down, so that the children of each keep their order; then nodes under none.
  const nodes = await from.getChildren(null)
  for (const { id } of nodes) nodes.push(...(await from.getChildren(id)))
  for (const { id } of sessions) {
    const node = await from.getNode(id)
    if (node !== null) nodes.push(node)
  }
  for (const node of nodes) {
    if ((await to.getNode(node.id)) === null) await to.putNode(node)
  }
  return copied
}

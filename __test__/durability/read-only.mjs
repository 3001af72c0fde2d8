// Reads and writes one SQLite file without root's rights: node read-only.mjs PATH UID GID
import { SqliteStorageAdapter } from '@stello-ai/session'

const [path = '', uid, gid] = process.argv.slice(2)
// The addon is loaded by now; the file is not yet opened.
if (process.getuid?.() === 0) {
  process.setgid?.(Number(gid))
  process.setuid?.(Number(uid))
}
const storage = new SqliteStorageAdapter({ path, busyTimeoutMs: 500 })

/** @param {Promise<unknown>} call */
const outcome = (call) =>
  call.then(
    (value) => ({ value: value ?? null }),
    ({ name, code, message }) => ({ name, code, message }),
  )

console.log(JSON.stringify({ read: await outcome(storage.getMemory('s')), written: await outcome(storage.putMemory('s', 'new')) }))
await storage.close()

// @ts-check
// Three threads that each hold the conversation, at once and while this one does; what each said.
import { once } from 'node:events'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import * as session from '@stello-ai/session'
import { converse } from './converse.cjs'

if (isMainThread) {
  const workers = Array.from({ length: 3 }, () => new Worker(new URL(import.meta.url)))
  const heard = Promise.all(workers.map(async (worker) => (await once(worker, 'message'))[0]))
  const own = await converse(session)
  console.log(JSON.stringify([own, ...(await heard)]))
} else {
  const said = await converse(session)
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(said)
}

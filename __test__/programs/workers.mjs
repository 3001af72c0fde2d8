// Ten worker threads at once, terminated with turns in flight, as many times as process.argv[2] says.
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { createOpenAICompatibleAdapter, createSession, InMemoryStorageAdapter } from '@stello-ai/session'

const [rounds, silent, answering] = [Number(process.argv[2]), process.argv[3], process.argv[4]]
const session = await createSession({
  storage: new InMemoryStorageAdapter(),
  llm: createOpenAICompatibleAdapter({ baseURL: answering, model: 'm', apiKey: '', maxContextTokens: 1000 }),
})
let terminated = 0
for (let round = 0; round < rounds; round++) {
  const workers = Array.from({ length: 10 }, (_, n) => new Worker(new URL('worker.mjs', import.meta.url), { workerData: { silent, answering, n } }))
  const failed = workers.map(async (worker) => {
    const [error] = await once(worker, 'error')
    throw error
  })
  await Promise.race([Promise.all(workers.map((worker) => once(worker, 'message'))), ...failed])
  for (const promise of failed) promise.catch(() => {})
  // This thread goes on with its own turns meanwhile.
  const turn = session.send('hello')
  await Promise.all(workers.map((worker) => worker.terminate()))
  await turn
  terminated += workers.length
}
console.log(JSON.stringify({ terminated, messages: (await session.messages()).length }))

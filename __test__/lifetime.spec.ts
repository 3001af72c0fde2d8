// What the package leaves behind in a process: each test looks at a process of its own.
import { execFile, type ExecFileException } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** Answers every request after a moment; with `/silent` in its path begins to, and never goes on. */
const server = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
  request.on('end', () => {
    const stream = (JSON.parse(body) as { stream?: boolean }).stream === true
    const event = (delta: object, reason: string | null) => `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`
    if (stream) response.writeHead(200, { 'content-type': 'text/event-stream' }).write(event({ content: 'answer' }, null))
    if (request.url?.startsWith('/silent') === true) return
    const later = request.url?.startsWith('/late') === true ? 100 : 0
    setTimeout(() => response.end(stream ? `${event({}, 'stop')}data: [DONE]\n\n` : JSON.stringify({ choices: [{ message: { content: 'answer' }, finish_reason: 'stop' }] })), later)
  })
})
let url: string
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

/** Runs a program to its own end. */
function run(program: string, args: string[] = [], flags: string[] = []) {
  const file = fileURLToPath(new URL(`programs/${program}`, import.meta.url))
  return new Promise<string>((resolve, reject) => {
    execFile(process.execPath, [...flags, file, ...args], { timeout: 110_000 }, (error: ExecFileException | null, stdout, stderr) => {
      if (error === null) resolve(stdout.trim())
      else reject(new Error(`${program} ended with ${error.code ?? error.signal}: ${stderr}${stdout}`))
    })
  })
}

describe('a process', () => {
  it('gets back all of 1 000 sessions that it lets go of: no object, listener, handle or thread is left', { timeout: 120_000 }, async () => {
    const told = JSON.parse(await run('dropped.mjs', ['1000', `${url}/v1`], ['--expose-gc'])) as { made: number }
    expect(told).toEqual({ made: expect.any(Number), left: 0, listeners: 0, resources: [], threads: 0 })
    expect(told.made).toBeGreaterThanOrEqual(1000)
  })

  it('ends by itself with idle sessions, storages and adapters that nobody closed', async () => {
    expect(await run('idle.mjs')).toBe('idle')
  })

  it.each([
    ['javascript', 'late'],
    ['native', 'answer'],
    ['stream', 'answer'],
    ['adapter', 'answer'],
  ])('waits for a pending turn: %s', async (which, expected) => {
    expect(await run('pending.mjs', [which, `${url}/late/v1`])).toBe(expected)
  })

  it.each([0, 1, 2, 5, 20, 100])('can be left with turns in flight, after %i turns of the event loop', async (loops) => {
    await expect(run('exit.mjs', [`${url}/silent/v1`, String(loops)])).rejects.toThrow(/^exit\.mjs ended with 7: $/)
  })

  it.runIf(process.platform === 'linux')('starts no thread before the first use', async () => {
    expect(JSON.parse(await run('import.mjs'))).toEqual({ kept: 3, started: 0 })
  })

  it('survives ten worker threads at once that are terminated with turns in flight, twenty times over', { timeout: 120_000 }, async () => {
    expect(JSON.parse(await run('workers.mjs', ['20', `${url}/silent/v1`, `${url}/v1`]))).toEqual({ terminated: 200, messages: 40 })
  })
})

describe('two copies of the package in one process', () => {
  type Package = typeof import('@stello-ai/session')
  const load = createRequire(import.meta.url)
  const fresh = (): Package => {
    for (const file of Object.keys(load.cache)) if (file.includes('/src/js/') || file.includes('\\src\\js\\')) delete load.cache[file]
    return load('@stello-ai/session') as Package
  }
  const llm = { maxContextTokens: 1000, complete: async () => ({ content: 'answer' }) }

  it('each work, and with the storages and adapters of the other', async () => {
    const [one, two] = [fresh(), fresh()]
    expect(one.Session).not.toBe(two.Session)
    for (const [own, other] of [[one, two], [two, one], [one, one], [two, two]] as const) {
      for (const storage of [new other.InMemoryStorageAdapter(), new other.SqliteStorageAdapter({ path: ':memory:' })]) {
        const native = other.createOpenAICompatibleAdapter({ baseURL: `${url}/v1`, model: 'm', apiKey: '', maxContextTokens: 1000 })
        const session = await own.createSession({ storage, llm: native, parentId: null })
        await session.send('one')
        let streamed = ''
        for await (const piece of session.stream('two')) streamed += piece
        session.setLLM(llm)
        await session.send('three')
        expect(streamed).toBe('answer')
        expect((await session.messages()).map(({ content }) => content)).toEqual(['one', 'answer', 'two', 'answer', 'three', 'answer'])
        expect(await own.forkSession(session, { label: 'c', context: 'inherit' })).toBeInstanceOf(own.Session)
        expect((await other.loadSession(session.meta.id, { storage }))?.meta).toEqual(session.meta)
        await session.archive()
        await expect(session.send('x')).rejects.toBeInstanceOf(own.SessionArchivedError)
        await storage.close()
      }
    }
  })
})

// The server example, used as a person uses it: in a browser.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { SqliteStorageAdapter } from '@stello-ai/session'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ensureChromium } from '../../scripts/chromium.mjs'
import { ensurePackages } from '../../scripts/folder.mjs'

const tools = fileURLToPath(new URL('tools/', import.meta.url))
const example = fileURLToPath(new URL('../../examples/server/', import.meta.url))

/** What is used of playwright-core, which is there only after the set-up. */
interface Page {
  goto(url: string): Promise<unknown>
  url(): string
  fill(selector: string, text: string): Promise<void>
  click(selector: string): Promise<void>
  waitForSelector(selector: string): Promise<unknown>
  reload(): Promise<unknown>
  close(): Promise<void>
  locator(selector: string): { allTextContents(): Promise<string[]>; inputValue(): Promise<string> }
}
interface Browser {
  newPage(): Promise<Page>
  close(): Promise<void>
}

let folder: string
let browser: Browser
beforeAll(async () => {
  ensurePackages(tools)
  ensurePackages(example)
  folder = mkdtempSync(join(tmpdir(), 'stello-browser-'))
  const executablePath = await ensureChromium()
  const { chromium } = createRequire(join(tools, 'package.json'))('playwright-core') as { chromium: { launch(options: object): Promise<Browser> } }
  browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  })
}, 300_000)
afterAll(async () => {
  await browser?.close()
  rmSync(folder, { recursive: true, force: true })
})

let running: ChildProcess
let file: string

/** Starts the example; resolves to its address. */
async function start(env: NodeJS.ProcessEnv) {
  running = spawn(process.execPath, ['server.mjs'], { cwd: example, env: { ...process.env, OPENAI_API_KEY: '', PORT: '0', CONVERSATIONS: file, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let errors = ''
  running.stderr?.on('data', (text) => (errors += text))
  for await (const line of createInterface({ input: running.stdout! })) if (line.startsWith('http')) return line
  throw new Error(`the server did not start: ${errors}`)
}

async function stop() {
  if (running.exitCode !== null) return
  running.kill()
  await once(running, 'exit')
}

async function ask(page: Page, text: string) {
  await page.fill('#text', text)
  await page.click('#send')
}

beforeEach(() => {
  file = join(mkdtempSync(join(folder, 'run-')), 'conversations.db')
})
afterEach(stop)

describe('the page', () => {
  it('streams an answer, and goes on after a reload and a restart of the server', async () => {
    const page = await browser.newPage()
    await page.goto(await start({}))
    await page.waitForSelector('[data-ready]')
    await ask(page, 'Hello! I am Mei, and I am going to Kyoto.')
    await page.waitForSelector('li.assistant[data-done]')
    const conversation = page.url().split('#')[1]

    await page.reload()
    await page.waitForSelector('[data-ready]')
    const [question, answer] = await page.locator('li').allTextContents()
    expect(question).toBe('Hello! I am Mei, and I am going to Kyoto.')
    expect(answer).toContain('Nice to meet you!')

    await stop()
    await page.goto(`${await start({})}#${conversation}`)
    await page.waitForSelector('[data-ready]')
    await ask(page, 'What is my name?')
    await page.waitForSelector('li.assistant[data-done]')
    expect((await page.locator('li').allTextContents()).at(-1)).toContain('You are Mei')
    await page.close()
  })
})

describe('an answer that never ends', () => {
  let model: Server
  let closed: Promise<unknown>
  let env: NodeJS.ProcessEnv
  beforeEach(async () => {
    let hangUp = () => {}
    closed = new Promise<void>((resolve) => (hangUp = resolve))
    model = createServer((request, response) => {
      request.resume()
      response.once('close', hangUp)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {"choices":[{"delta":{"content":"Once upon a time"}}]}\n\n')
    }).listen(0, '127.0.0.1')
    await once(model, 'listening')
    env = { OPENAI_API_KEY: 'key', OPENAI_BASE_URL: `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1` }
  })
  afterEach(() => {
    model.closeAllConnections()
    model.close()
  })

  /** What is stored once the server has ended. */
  async function stored(id: string) {
    await stop()
    const storage = new SqliteStorageAdapter({ path: file })
    const records = await storage.listRecords(id)
    await storage.close()
    return records
  }

  it.each([
    ['when the browser goes away', (page: Page) => page.close()],
    ['when it is stopped', (page: Page) => page.click('#stop')],
  ])('is not asked for any longer %s, and nothing of it is stored', async (_name, leave) => {
    const page = await browser.newPage()
    await page.goto(await start(env))
    await page.waitForSelector('[data-ready]')
    await ask(page, 'Tell me a story')
    await page.waitForSelector('li.assistant:not(:empty)')
    const id = page.url().split('#')[1] ?? ''
    await leave(page)
    await closed
    expect(await stored(id)).toEqual([])
  })

  it('can be stopped and sent again', async () => {
    const page = await browser.newPage()
    await page.goto(await start(env))
    await page.waitForSelector('[data-ready]')
    await ask(page, 'Tell me a story')
    await page.waitForSelector('li.assistant:not(:empty)')
    await page.click('#stop')
    await page.waitForSelector('li.failed')
    expect(await page.locator('li').allTextContents()).toEqual(['Once upon a time (stopped)'])
    expect(await page.locator('#text').inputValue()).toBe('Tell me a story')
    await page.close()
  })
})

// What becomes of a panic: an addon that panics where it is told to is built for this.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { cargoEnvironment } from '../scripts/cargo.mjs'
import { postgresUrl } from './support/postgres'

const run = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'stello-faults-'))
const addon = join(folder, 'faults.node')

const server = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
  request.on('end', () => {
    const event = (delta: object, reason: string | null) => `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`
    if ((JSON.parse(body) as { stream?: boolean }).stream === true) response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${event({ content: 'answer' }, null)}${event({}, 'stop')}data: [DONE]\n\n`)
    else response.end(JSON.stringify({ choices: [{ message: { content: 'answer' }, finish_reason: 'stop' }] }))
  })
})

beforeAll(async () => {
  const { stdout } = await run('cargo', ['build', '--lib', '--quiet', '--features', 'faults', '--message-format', 'json'], { cwd: root, env: cargoEnvironment(), maxBuffer: 1 << 28 })
  const built = stdout.split('\n').filter((line) => line.includes('"compiler-artifact"')).map((line) => JSON.parse(line) as { target: { name: string }; filenames: string[] })
  const files = built.filter(({ target }) => target.name === 'stello_session').flatMap(({ filenames }) => filenames)
  copyFileSync(files.find((file) => /\.(so|dylib|dll)$/.test(file)) ?? '', addon)
  await once(server.listen(0, '127.0.0.1'), 'listening')
}, 900_000)
afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

it('a panic anywhere rejects the call by its place, stores nothing of the turn, and the next call works', { timeout: 300_000 }, async () => {
  const program = fileURLToPath(new URL('programs/panics.mjs', import.meta.url))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const { stdout } = await run(process.execPath, [program, url, postgresUrl(), addon], { maxBuffer: 1 << 26 })
  const told = JSON.parse(stdout) as { place: string; call: string; error: string; kept: boolean; again: string; added: number }[]
  expect(told.length).toBeGreaterThan(100)
  const turns = new Set(['send', 'stream', 'streamResult', 'compress'])
  const wrong = told.filter(({ place, call, error, kept, again, added }) => !error.endsWith(`planted at ${place}`) || !kept || again !== 'works' || added !== (turns.has(call) ? 2 : 0))
  expect(wrong).toEqual([])
})

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { ck, d, S } from './frames.mjs'
import { withServer, type Seen } from './server.mjs'

const STREAMS = 200
const CHUNKS = 200

/** Each stream carries its own number, so that pieces of another one would be seen. */
function numbered({ body }: Seen) {
  const number = /stream (\d+)$/.exec(body.messages.at(-1).content)![1]
  const chunk = (at: number) => d(ck({ content: `${number}.${at} ` }))
  // Ten events to a write: the server shares this machine with what it serves.
  const writes = Array.from({ length: CHUNKS / 10 }, (_, write) => Array.from({ length: 10 }, (__, at) => chunk(write * 10 + at)).join(''))
  return S([...writes, d(ck({}, 'stop')), d('[DONE]')])
}

it('200 streams of 200 chunks at once all complete, in order, and give their memory back', { timeout: 120_000 }, async () => {
  const { inOrder, ms, before, after } = await withServer(numbered, async ({ url }) => {
    const program = fileURLToPath(new URL('load.mjs', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', program, url, String(STREAMS), String(CHUNKS)])
    return JSON.parse(stdout)
  })
  const grown = (name: string) => Math.round((after[name] - before[name]) / 1024)
  console.log(`${STREAMS} × ${CHUNKS} chunks in ${Math.round(ms)} ms; after six bursts more: heap ${grown('heapUsed')} KiB, rss ${grown('rss')} KiB, external ${grown('external')} KiB`)
  expect(inOrder).toBe(STREAMS)
  expect(grown('heapUsed')).toBeLessThan(1_024)
  expect(grown('external')).toBeLessThan(1_024)
  // Six bursts are 40 MiB on the wire: a leak of theirs would show, what the allocator keeps would not.
  expect(grown('rss')).toBeLessThan(16 * 1_024)
})

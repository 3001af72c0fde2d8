import { describe, expect, it } from 'vitest'
import { cases } from './cases.mjs'
import { expected } from './expected.js'
import { more } from './more-cases.mjs'
import { moreExpected } from './more-expected.js'
import { adapterOf, faultOf, streamed, type Outcome } from './outcome.js'
import { withServer, type Answer } from './server.mjs'

/** How a response's bytes are cut; gzip bodies are compressed as a whole first. */
type Cut = (bytes: Buffer) => Buffer[]

const oneByOne: Cut = (bytes) => Array.from(bytes, (byte) => Buffer.from([byte]))

/** The same numbers for the same seed: a failure names its seed and can be had again. */
function numbers(seed: number) {
  let state = seed
  return (below: number) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

function atRandom(seed: number): Cut {
  const next = numbers(seed)
  return (bytes) => {
    const pieces: Buffer[] = []
    // Pieces of a few bytes and of many, so that cuts fall inside characters and across several events.
    const longest = [3, 17, 120, 1_000][next(4)]
    for (let at = 0; at < bytes.length; ) {
      const end = at + 1 + next(longest)
      pieces.push(bytes.subarray(at, end))
      at = end
    }
    return pieces
  }
}

/** The bytes between two pauses are cut anew; pauses stay where they are. */
function recut({ parts = [], ...answer }: Answer, cut: Cut): Answer {
  const out: Array<Buffer | number | string> = []
  let run: Buffer[] = []
  const flush = () => {
    out.push(...cut(Buffer.concat(run)))
    run = []
  }
  for (const part of parts) {
    if (typeof part === 'number') {
      flush()
      out.push(part)
    } else if (typeof part === 'string' && part.startsWith('GZIP:')) out.push(part)
    else run.push(Buffer.from(part))
  }
  flush()
  return { ...answer, parts: out }
}

/** Everything that must not depend on the cuts. */
function essence({ pieces, error, ...rest }: Outcome) {
  const { cause: _, ...fault } = (error === undefined ? {} : faultOf(error)) as Record<string, unknown>
  return { ...rest, pieces, fault }
}

const streams = [...cases, ...more].filter(({ op, o }) => op === 'stream' && o?.abortMs === undefined)

async function play(wireCase: (typeof streams)[number], cut: Cut) {
  const answers = wireCase.r.map((answer) => recut(answer, cut))
  return withServer(answers, (server) => streamed(adapterOf(wireCase.p, server.url, { idleTimeoutMs: wireCase.o?.timeout })))
}

describe.concurrent('a stream', () => {
  it.for(streams.map((wireCase) => ({ wireCase, name: `${wireCase.id} ${wireCase.n}` })))('$name comes to the same with its bytes one by one', async ({ wireCase }) => {
    const whole = essence(await play(wireCase, (bytes) => [bytes]))
    expect(whole.pieces).toEqual((expected[wireCase.id] ?? moreExpected[wireCase.id]).pieces)
    expect(essence(await play(wireCase, oneByOne))).toEqual(whole)
  })

  it.for(streams.filter(({ r, o }) => r.length === 1 && o === undefined).map((wireCase) => ({ wireCase, name: `${wireCase.id} ${wireCase.n}` })))(
    '$name comes to the same cut at random places',
    async ({ wireCase }) => {
      const whole = essence(await play(wireCase, (bytes) => [bytes]))
      const first = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9))
      for (let seed = first; seed < first + 12; seed++) {
        expect(essence(await play(wireCase, atRandom(seed))), `SEED=${seed}`).toEqual(whole)
      }
    },
  )
})

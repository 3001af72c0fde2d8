import { InMemoryStorageAdapter, SqliteStorageAdapter, createSession, type MainStorage } from '@stello-ai/session'
import { describe, expect, it } from 'vitest'
import { converse, languages } from '../bench/conversation.mjs'
import { countTokens } from './support/long-history.js'
import { MapStorage } from './support/map-storage.js'

/** A conversation may need so many calls of the compressor, and that share of its prompt tokens repeats the prompt before. */
const bars = {
  reported: { calls: 20, stable: 0.85 },
  'not reported': { calls: 28, stable: 0.8 },
}

const cases = (Object.keys(languages) as Array<keyof typeof languages>).flatMap((language) =>
  (Object.keys(bars) as Array<keyof typeof bars>).map((usage) => ({ language, usage, on: 'a JavaScript storage', storage: (): MainStorage => new MapStorage() })),
)
cases.push(
  { language: 'mixed', usage: 'reported', on: 'the native in-memory storage', storage: () => new InMemoryStorageAdapter() },
  { language: 'mixed', usage: 'not reported', on: 'SQLite', storage: () => new SqliteStorageAdapter({ path: ':memory:' }) },
)

describe('two hundred turns in a window of 8 000 tokens', () => {
  it.each(cases)('keep to it and seldom compress: $language, usage $usage, on $on', async ({ language, usage, storage }) => {
    const figures = await converse(createSession, { storage: storage(), turns: 200, windowTokens: 8_000, language, usage: usage === 'reported', count: countTokens })
    expect(figures).toMatchObject({ promptsOverWindow: 0, handedTwice: 0, gaps: 0, overlaps: 0, misplaced: 0 })
    expect(figures.largestCompressInput).toBeLessThanOrEqual(0.85)
    expect(figures.compressCalls).toBeLessThanOrEqual(bars[usage].calls)
    expect(figures.stableShare).toBeGreaterThanOrEqual(bars[usage].stable)
  })
})

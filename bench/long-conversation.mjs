// @ts-check
// How a session behaves past its window, in tokens of o200k_base: node bench/long-conversation.mjs [--small]
//
// Prints a Markdown table. Every conversation is held with a model that reports its token counts, and with one that does not.
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { InMemoryStorageAdapter, createSession } from '../src/js/index.mjs'
import { converse, languages } from './conversation.mjs'

const count = (/** @type {string} */ text) => encode(text).length

const sizes = [
  { windowTokens: 8_000, turns: 200, scale: 1 },
  { windowTokens: 32_000, turns: 500, scale: 1 },
  // Messages as many times longer as the window is larger.
  { windowTokens: 200_000, turns: 200, scale: 25 },
]
const measured = process.argv.includes('--small') ? sizes.slice(0, 1) : sizes

const columns = ['window', 'turns', 'language', 'usage', 'compress calls', 'largest compress input', 'handed twice', 'largest prompt', 'over the window', 'gaps', 'stable prefix']
console.log(row(columns))
console.log(row(columns.map((_, column) => (column === 2 || column === 3 ? '---' : '---:'))))
for (const size of measured) {
  for (const language of /** @type {Array<keyof typeof languages>} */ (Object.keys(languages))) {
    for (const usage of [true, false]) {
      const figures = await converse(createSession, { ...size, storage: new InMemoryStorageAdapter(), language, usage, count })
      console.log(
        row([
          grouped(size.windowTokens),
          size.turns,
          language,
          usage ? 'reported' : 'not reported',
          figures.compressCalls,
          figures.largestCompressInput.toFixed(2),
          figures.handedTwice,
          figures.largestPrompt.toFixed(2),
          figures.promptsOverWindow,
          figures.gaps + figures.overlaps + figures.misplaced,
          figures.stableShare.toFixed(3),
        ]),
      )
    }
  }
}

/** @param {Array<string | number>} cells */
function row(cells) {
  return `| ${cells.join(' | ')} |`
}

/** @param {number} number */
function grouped(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ' ')
}

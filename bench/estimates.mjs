// @ts-check
// The estimate against o200k_base: node bench/estimates.mjs
//
// Prints a Markdown table. The estimate of a prompt shows in the smallest window that it fits without compression: the prompt
// is then just under four fifths of it.
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { InMemoryStorageAdapter, createSession } from '../src/js/index.mjs'
import { samples } from './samples.mjs'

const MESSAGE_TOKENS = 4
const THRESHOLD = 0.8

/** @param {Array<{ content: string }>} messages */
const promptTokens = (messages) => messages.reduce((sum, { content }) => sum + encode(content).length + MESSAGE_TOKENS, 0)

/**
 * Whether `texts`, sent one after another, all fit a window without compression.
 *
 * @param {number} windowTokens
 * @param {string[]} texts
 * @param {boolean} usage
 */
async function fits(windowTokens, texts, usage) {
  const storage = new InMemoryStorageAdapter()
  let fitting = true
  const session = await createSession({
    storage,
    label: '',
    llm: {
      maxContextTokens: windowTokens,
      complete: async (messages) => ({ content: '', ...(usage && { usage: { promptTokens: promptTokens(messages), completionTokens: 0 } }) }),
    },
    async compressFn() {
      fitting = false
      return 'summary'
    },
  })
  // A first message is never compressed: there is nothing yet that could leave.
  for (const text of texts) await session.send(text)
  return fitting
}

/** The estimate of the prompt of the last of `texts`, the tokens it has, and how many of them its last message.
 *
 * @param {string[]} texts
 * @param {boolean} usage
 */
async function measure(texts, usage) {
  let [small, large] = [100, 200_000]
  while (large - small > 1) {
    const middle = Math.floor((small + large) / 2)
    if (await fits(middle, texts, usage)) large = middle
    else small = middle
  }
  const prompt = texts.flatMap((text, index) => (index === 0 ? [{ content: text }] : [{ content: '' }, { content: text }]))
  const tokens = promptTokens(prompt)
  const known = promptTokens(prompt.slice(0, -2))
  return { estimate: large * THRESHOLD, tokens, known }
}

const columns = ['text', 'characters a token', 'estimate of a prompt', 'of what is new after the first report', 'of the whole prompt then']
console.log(row(columns))
console.log(row(columns.map((_, column) => (column === 0 ? '---' : '---:'))))
for (const { kind, first, second } of samples) {
  const before = await measure(['', first], false)
  const after = await measure([first, second], true)
  console.log(
    row([
      kind,
      (first.length / encode(first).length).toFixed(2),
      error(before.estimate, before.tokens),
      error(after.estimate - after.known, after.tokens - after.known),
      error(after.estimate, after.tokens),
    ]),
  )
}

/**
 * @param {number} estimate
 * @param {number} tokens
 */
function error(estimate, tokens) {
  const percent = Math.round((estimate / tokens - 1) * 100)
  return `${percent < 0 ? '−' : '+'}${Math.abs(percent)} %`
}

/** @param {string[]} cells */
function row(cells) {
  return `| ${cells.join(' | ')} |`
}

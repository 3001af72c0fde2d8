// @ts-check
// A long conversation that counts what its prompts and its compressor are given.

const ENGLISH =
  'The committee reviewed the quarterly figures and asked for a breakdown by region before the next meeting; several members raised doubts about shipping costs. '
const CHINESE = '委员会审阅了季度数据，并要求在下次会议之前按地区给出明细；几位成员对运输成本提出了疑问，希望尽快得到书面答复。'
const CODE = `export async function settle(orders: Map<string, Order>, now = Date.now()): Promise<number> {
  let total = 0
  for (const [id, { lines, dueAt }] of orders) {
    if (dueAt > now || lines.length === 0) continue
    total += lines.reduce((sum, { price, quantity }) => sum + price * quantity, 0)
    await ledger.close(id, { at: new Date(now).toISOString() })
  }
  return Math.round(total * 100) / 100
}
`

/**
 * What is said: the text of message `n`, `scale` times as long as an ordinary one.
 *
 * @type {Record<'english' | 'chinese' | 'mixed', (n: number, scale: number) => string>}
 */
export const languages = {
  english: (_n, scale) => ENGLISH.repeat(4 * scale),
  chinese: (_n, scale) => CHINESE.repeat(4 * scale),
  mixed(n, scale) {
    const kinds = [() => ENGLISH.repeat(4), () => CODE, () => json(n), () => CHINESE.repeat(4), () => base64(n)]
    return Array.from({ length: scale }, (_, part) => kinds[(n + part) % kinds.length]()).join('\n')
  },
}

/** @param {number} n */
function json(n) {
  const rows = Array.from({ length: 3 }, (_, row) => ({ id: n * 1000 + row, sku: `A-${n}-${row}`, price: (n * 7 + row) / 4, tags: ['new', 'eu'], stock: { berlin: row, 東京: n } }))
  return JSON.stringify(rows)
}

/** @param {number} n */
function base64(n) {
  let state = n + 1
  const bytes = Uint8Array.from({ length: 240 }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return state >>> 16
  })
  return `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`
}

/**
 * @typedef {import('@stello-ai/session').Message} Message
 *
 * @typedef {object} Conversation
 * @property {import('@stello-ai/session').SessionStorage} storage
 * @property {number} turns
 * @property {number} windowTokens
 * @property {keyof typeof languages} language
 * @property {boolean} usage whether the model reports what it was given
 * @property {(text: string) => number} count the tokens of a text
 * @property {number} [scale] how many times longer than ordinary each message is
 *
 * @typedef {object} Figures
 * @property {number} compressCalls
 * @property {number} compressedTokens what the compressor was given, in all
 * @property {number} largestCompressInput in windows
 * @property {number} handedTwice messages that the compressor was given again
 * @property {number} largestPrompt in windows
 * @property {number} promptsOverWindow
 * @property {number} gaps messages that a prompt neither showed nor had summarised
 * @property {number} overlaps messages that a prompt showed though they were summarised
 * @property {number} misplaced summaries that do not stand right before the history, or reach the compressor other than first
 * @property {number} stableShare of the prompt tokens, those that repeat the beginning of the prompt before
 * @property {number} meanPrompt tokens
 */

/**
 * Holds a conversation.
 *
 * @param {typeof import('@stello-ai/session').createSession} createSession
 * @param {Conversation} conversation
 * @returns {Promise<Figures>}
 */
export async function converse(createSession, { storage, turns, windowTokens, language, usage, count, scale = 1 }) {
  const meter = new Meter(windowTokens, count)
  const say = (/** @type {string} */ who, /** @type {number} */ turn) => `[${who}${turn}] ${languages[language](turn, scale)}`
  let turn = 0
  const session = await createSession({
    storage,
    label: 'long',
    systemPrompt: 'You are a careful assistant.',
    llm: {
      maxContextTokens: windowTokens,
      async complete(messages) {
        const promptTokens = meter.prompt(messages, turn)
        const content = say('a', turn)
        return { content, ...(usage && { usage: { promptTokens, completionTokens: meter.tokens(content) } }) }
      },
    },
    async compressFn(messages) {
      return `[summary ${meter.compress(messages)}] ${languages[language](0, scale)}`
    },
  })
  for (; turn < turns; turn++) await session.send(say('u', turn))
  return meter.figures()
}

/** What a message costs besides its content. */
const MESSAGE_TOKENS = 4

class Meter {
  #window
  #count
  /** @type {Map<string, number>} */ #counted = new Map()
  /** @type {Set<string>} */ #summarised = new Set()
  /** @type {string[]} */ #before = []
  #compressCalls = 0
  #compressed = 0
  #largestInput = 0
  #handedTwice = 0
  #prompts = 0
  #promptTokens = 0
  #largestPrompt = 0
  #stable = 0
  #over = 0
  #gaps = 0
  #overlaps = 0
  #misplaced = 0

  /**
   * @param {number} windowTokens
   * @param {(text: string) => number} count
   */
  constructor(windowTokens, count) {
    this.#window = windowTokens
    this.#count = count
  }

  /** @param {string} text */
  tokens(text) {
    let tokens = this.#counted.get(text)
    if (tokens === undefined) this.#counted.set(text, (tokens = this.#count(text)))
    return tokens
  }

  /**
   * @param {Message[]} messages
   * @param {number} turn
   */
  prompt(messages, turn) {
    const sizes = messages.map(({ content }) => this.tokens(content) + MESSAGE_TOKENS)
    const total = sizes.reduce((sum, size) => sum + size, 0)
    this.#prompts++
    this.#promptTokens += total
    this.#largestPrompt = Math.max(this.#largestPrompt, total)
    if (total > this.#window) this.#over++
    const keys = messages.map((message) => JSON.stringify(message))
    for (let index = 0; index < keys.length && keys[index] === this.#before[index]; index++) this.#stable += sizes[index]
    this.#before = keys
    const shown = new Set(messages.map(nameOf))
    for (let earlier = 0; earlier < turn; earlier++) {
      for (const name of [`u${earlier}`, `a${earlier}`]) {
        if (shown.has(name) && this.#summarised.has(name)) this.#overlaps++
        if (!shown.has(name) && !this.#summarised.has(name)) this.#gaps++
      }
    }
    const first = messages.findIndex(({ role }) => role !== 'system')
    if (this.#compressCalls > 0 && !this.#isLastSummary(messages[first - 1])) this.#misplaced++
    return total
  }

  /** @param {Message[]} messages */
  compress(messages) {
    if (this.#compressCalls > 0 && !this.#isLastSummary(messages[0])) this.#misplaced++
    const input = messages.reduce((sum, { content }) => sum + this.tokens(content), 0)
    this.#compressed += input
    this.#largestInput = Math.max(this.#largestInput, input)
    for (const message of messages) {
      const name = nameOf(message)
      if (name === undefined) continue
      if (this.#summarised.has(name)) this.#handedTwice++
      this.#summarised.add(name)
    }
    return ++this.#compressCalls
  }

  /** @param {Message | undefined} message */
  #isLastSummary(message) {
    return message?.role === 'system' && message.content.startsWith(`[summary ${this.#compressCalls}] `)
  }

  /** @returns {Figures} */
  figures() {
    return {
      compressCalls: this.#compressCalls,
      compressedTokens: this.#compressed,
      largestCompressInput: this.#largestInput / this.#window,
      handedTwice: this.#handedTwice,
      largestPrompt: this.#largestPrompt / this.#window,
      promptsOverWindow: this.#over,
      gaps: this.#gaps,
      overlaps: this.#overlaps,
      misplaced: this.#misplaced,
      stableShare: this.#stable / this.#promptTokens,
      meanPrompt: Math.round(this.#promptTokens / this.#prompts),
    }
  }
}

/** @param {Message} message */
function nameOf({ content }) {
  return /^\[([ua]\d+)\]/.exec(content)?.[1]
}

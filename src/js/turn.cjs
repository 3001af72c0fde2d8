// @ts-check
'use strict'

const { Ask } = require('./dispatch.cjs')
const { Operation } = require('./operation.cjs')
const { callComplete, callStream } = require('./model-calls.cjs')
const { loadTurn, resolvePrompt } = require('./records.cjs')
const { applyForNative } = require('./storage-calls.cjs')
const { nativeAdapter } = require('./llm.cjs')
const { directHandle } = require('./native-storage.cjs')

/** Tells adapters apart, so that a provider's token counts are not used for another. */
const adapterNumbers = new WeakMap()
let lastAdapter = 0

/** @param {object} llm */
function adapterNumber(llm) {
  let number = adapterNumbers.get(llm)
  if (number === undefined) adapterNumbers.set(llm, (number = ++lastAdapter))
  return number
}

/**
 * What native code must know of the moment in which a turn runs, in the order of its parameters.
 *
 * @param {import('./session-core.cjs').SessionCore} core
 */
function turnState(core) {
  const { llm } = core
  return /** @type {const} */ ([
    directHandle(core.storage),
    nativeAdapter(llm),
    adapterNumber(llm),
    typeof llm.maxContextTokens === 'number' ? llm.maxContextTokens : 0,
    core.toolsJson(),
    core.compressFn !== undefined,
  ])
}

/** One `send` or `stream`. */
class TurnOperation extends Operation {
  #core
  #signal
  #pieces
  /** @type {import('./records.cjs').LoadedRecords | undefined} */ #loaded
  /** Adapter, tools and compressor of the moment in which the turn's place came. */
  #moment

  /**
   * @param {import('./session-core.cjs').SessionCore} core
   * @param {AbortSignal | undefined} signal
   * @param {import('./pieces.cjs').Pieces<string> | undefined} pieces where a stream's text goes
   */
  constructor(core, signal, pieces) {
    super(pieces && ((taken) => taken.forEach((piece) => pieces.push(piece))))
    this.#core = core
    this.#signal = signal
    this.#pieces = pieces
    this.#moment = this.#now()
  }

  /**
   * @param {string} input
   * @param {boolean} toolResults
   */
  run(input, toolResults) {
    const { handle } = this.#core
    const streaming = this.#pieces !== undefined
    const state = turnState(this.#core)
    const begin = (/** @type {import('./native.cjs').Bridge} */ bridge, /** @type {number} */ number) =>
      bridge.turn(number, handle, input, toolResults, streaming, ...state)
    return this.start(begin, { signal: this.#signal, turnOf: handle.key() })
  }

  #now() {
    const { storage, llm, tools, compressFn } = this.#core
    return { storage, llm, tools, compressFn }
  }

  /**
   * @override
   * @type {Operation['answer']}
   */
  async answer(bridge, question, ask, payload) {
    const { storage, compressFn } = this.#moment
    switch (ask) {
      case Ask.State:
        this.#moment = this.#now()
        return bridge.answerState(question, ...turnState(this.#core))
      case Ask.Load:
        this.#loaded = await loadTurn(bridge, question, storage, this.#core.id, payload, this.#core.seen)
        this.#core.seen = this.#loaded
        return
      case Ask.Contents: {
        const [start, end] = JSON.parse(payload)
        return bridge.answerContents(question, this.#loaded.texts.slice(start, end))
      }
      case Ask.Apply:
        await applyForNative(storage, payload)
        return bridge.answer(question, 'null')
      case Ask.Generate:
        return bridge.answer(question, JSON.stringify(await this.#generate(JSON.parse(payload))))
      case Ask.Compress: {
        const messages = resolvePrompt(JSON.parse(payload), this.#loaded)
        const summary = await compressFn(messages, { signal: this.#signal })
        return bridge.answer(question, JSON.stringify(summary) ?? 'undefined')
      }
      default:
        return super.answer(bridge, question, ask, payload)
    }
  }

  /** @param {{ parts: any[], stream: boolean, tools: boolean }} request */
  async #generate({ parts, stream, tools }) {
    const { llm } = this.#moment
    const messages = resolvePrompt(parts, this.#loaded)
    const options = { tools: tools ? this.#core.toolSpecs() : undefined, signal: this.#signal }
    const onText = (/** @type {string} */ delta) => {
      if (!this.ended) this.#pieces.push(delta)
    }
    if (stream && typeof llm.stream === 'function') return callStream(llm, messages, options, onText, () => this.ended)
    const result = await callComplete(llm, messages, options)
    if (stream && result.content) onText(result.content)
    return result
  }
}

module.exports = { TurnOperation }

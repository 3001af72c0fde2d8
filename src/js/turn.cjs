// @ts-check
'use strict'

const { describe, json } = require('./check.cjs')
const { Ask } = require('./dispatch.cjs')
const { Operation } = require('./operation.cjs')
const { callComplete, callStream } = require('./model-calls.cjs')
const { copyRecords, outline, readAll, resolvePrompt } = require('./records.cjs')
const { applyForNative } = require('./storage-calls.cjs')
const { nativeAdapter } = require('./llm.cjs')
const { directHandle } = require('./native-storage.cjs')

/** @import { LLMAdapter, SendResult } from '../../index.js' */
/** @import { SessionCore } from './session-core.cjs' */

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
 * What of a session counts for a turn: as it is when the turn's place comes.
 *
 * @param {SessionCore} core
 */
function momentOf({ llm: given, compressFn, tools, storage }) {
  // No turn begins without an adapter, and none takes it away.
  const llm = /** @type {LLMAdapter} */ (given)
  const specs = tools === undefined || tools.length === 0 ? undefined : require('./tool.cjs').toolSpecs(tools)
  return { llm, compressFn, specs, storage: directHandle(storage), adapter: nativeAdapter(llm) }
}

/**
 * The same for native code, in the order of its parameters.
 *
 * @param {ReturnType<typeof momentOf>} moment
 */
function nativeMoment({ llm, compressFn, specs, storage, adapter }) {
  const window = typeof llm.maxContextTokens === 'number' ? llm.maxContextTokens : 0
  const tools = specs === undefined ? null : json('tools', specs)
  return /** @type {const} */ ([storage, adapter, adapterNumber(llm), window, tools, compressFn !== undefined])
}

/**
 * One `send` or `stream`.
 *
 * @extends {Operation<SendResult>}
 */
class TurnOperation extends Operation {
  #core
  #signal
  #pieces
  /** The records of a JavaScript storage, where JavaScript is to be shown them. @type {any[]} */ #records = []
  /** And what native code is to be told of them. @type {string[]} */ #texts = []
  #moment

  /**
   * @param {SessionCore} core
   * @param {AbortSignal | undefined} signal
   * @param {import('./pieces.cjs').Pieces<string> | undefined} pieces where a stream's text goes
   */
  constructor(core, signal, pieces) {
    super(pieces && ((taken) => taken.forEach((piece) => pieces.push(piece))))
    this.#core = core
    this.#signal = signal
    this.#pieces = pieces
    this.#moment = momentOf(core)
  }

  /**
   * @param {string} input
   * @param {boolean} toolResults
   */
  run(input, toolResults) {
    const { handle } = this.#core
    const streaming = this.#pieces !== undefined
    const moment = nativeMoment(this.#moment)
    const begin = (/** @type {import('./native.cjs').Bridge} */ bridge, /** @type {number} */ number) =>
      bridge.turn(number, handle, input, toolResults, streaming, ...moment)
    const onStorage = this.#moment.storage !== null && this.#moment.adapter === null
    return this.start(begin, { signal: this.#signal, turnOf: this.#core.key, onStorage })
  }

  /**
   * @override
   * @type {Operation<SendResult>['answer']}
   */
  async answer(bridge, question, ask, payload) {
    const { storage } = this.#core
    switch (ask) {
      case Ask.State:
        this.#moment = momentOf(this.#core)
        return bridge.answerState(question, ...nativeMoment(this.#moment))
      case Ask.Load:
        return this.#load(bridge, question, payload)
      case Ask.Contents: {
        const [start, end] = JSON.parse(payload)
        const texts = this.#texts.slice(start, end)
        let units = 0
        for (const text of texts) units += text.length
        return bridge.answerContents(question, texts, units)
      }
      case Ask.Apply:
        await applyForNative(storage, payload)
        return bridge.answer(question, 'null')
      case Ask.Generate:
        return bridge.answer(question, json('the result of the model', await this.#generate(JSON.parse(payload))))
      case Ask.Compress: {
        const { compressFn } = this.#moment
        const summary = await compressFn?.(resolvePrompt(JSON.parse(payload), this.#copyLoaded()), { signal: this.#signal })
        if (typeof summary !== 'string') throw new TypeError(`compressFn must return a non-empty string, got ${describe(summary)}`)
        return bridge.answer(question, JSON.stringify(summary))
      }
      default:
        return super.answer(bridge, question, ask, payload)
    }
  }

  /**
   * @param {import('./native.cjs').Bridge} bridge
   * @param {number} question
   * @param {string} slotMethod
   */
  async #load(bridge, question, slotMethod) {
    const core = this.#core
    const { systemPrompt, slot, records, cache, keepsCache } = await readAll(core, slotMethod)
    if (this.ended) return
    const seen = core.seenBy(this)
    const { intact, columns, links } = outline(seen, records)
    this.#texts = seen.texts
    // For a storage may go on with its own array. A native adapter takes the texts.
    if (this.#moment.adapter === null || this.#moment.compressFn !== undefined) this.#records = records.slice()
    const linked = links.length === 0 ? null : JSON.stringify(links)
    return bridge.answerLoad(question, core.handle, systemPrompt, slot, intact, columns, linked, cache, keepsCache)
  }

  /** @override */
  onEnd() {
    this.#records = []
    this.#texts = []
    this.#core.leave(this)
  }

  /** Copies records that were loaded from a JavaScript storage. */
  #copyLoaded() {
    const records = this.#records
    return (/** @type {number} */ start, /** @type {number} */ end) => copyRecords(records, start, end)
  }

  /** @param {{ shown?: import('./shown-records.cjs').Change, parts: any[], stream: boolean, tools: boolean }} request */
  async #generate({ shown, parts, stream, tools }) {
    const { llm, specs } = this.#moment
    const messages = resolvePrompt(parts, shown === undefined ? this.#copyLoaded() : this.#core.shown.apply(shown))
    const options = { tools: tools ? specs : undefined, signal: this.#signal }
    const onText = (/** @type {string} */ delta) => {
      if (!this.ended) this.#pieces?.push(delta)
    }
    if (stream && typeof llm.stream === 'function') return callStream(/** @type {Required<LLMAdapter>} */ (llm), messages, options, onText, () => this.ended)
    const result = await callComplete(llm, messages, options)
    if (stream && result.content) onText(result.content)
    return result
  }
}

module.exports = { TurnOperation }

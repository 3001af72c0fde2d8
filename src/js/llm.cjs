// @ts-check
'use strict'

const { AdapterHandle } = require('./addon.cjs')
const check = require('./check.cjs')
const { errorFromFault } = require('./errors.cjs')
const { Operation, abortReason } = require('./operation.cjs')

/**
 * @import { AnthropicAdapterOptions, ClaudeOptions, CustomClaudeOptions, CustomGPTOptions, GPTOptions, LLMAdapter, LLMChunk, LLMCompleteOptions,
 *   Message, OpenAICompatibleOptions } from '../../index.js'
 */

/**
 * The native adapter behind a `complete` or a `stream`: on the functions, so that spreading an adapter keeps it
 * native and wrapping one of them does not go unnoticed.
 *
 * @type {WeakMap<Function, import('./native.cjs').AdapterHandle>}
 */
const handles = new WeakMap()

/**
 * The native adapter that `llm` is, if both its functions are still the native ones.
 *
 * @param {LLMAdapter} llm
 * @returns {import('./native.cjs').AdapterHandle | null}
 */
function nativeAdapter({ complete, stream }) {
  const handle = handles.get(complete)
  return handle !== undefined && stream !== undefined && handles.get(stream) === handle ? handle : null
}

/** What the adapters read of `process.env`. */
const VARIABLES = ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'OPENAI_ORG_ID', 'OPENAI_PROJECT_ID', 'ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL']

/**
 * @param {string} factory
 * @param {Partial<OpenAICompatibleOptions>} given
 * @returns {LLMAdapter}
 */
function createAdapter(factory, given) {
  if (!check.isObject(given)) throw check.wrong('options', 'an object', given)
  checkKinds(given)
  const { extraBody } = given
  /** @type {Record<string, string>} */
  const env = {}
  for (const name of VARIABLES) if (process.env[name] !== undefined) env[name] = process.env[name]
  const without = extraBody === null || typeof extraBody !== 'object' ? [] : Object.keys(extraBody).filter((key) => extraBody[key] === undefined)
  const made = AdapterHandle.create(factory, check.json('options', { ...given, extraBodyWithout: without }), env)
  if (typeof made === 'string') throw errorFromFault(JSON.parse(made))
  const handle = made

  /**
   * @param {Message[]} messages
   * @param {LLMCompleteOptions} [options]
   */
  async function complete(messages, options) {
    const { signal, call } = checkCall(messages, options)
    if (signal?.aborted) throw abortReason(signal)
    return await new Operation().start((bridge, number) => bridge.adapterComplete(number, handle, call), { signal }).promise
  }

  /**
   * @param {Message[]} messages
   * @param {LLMCompleteOptions} [options]
   */
  function stream(messages, options) {
    const { signal, call } = checkCall(messages, options)
    return lazyStream(handle, signal, call)
  }

  handles.set(complete, handle)
  handles.set(stream, handle)
  return { maxContextTokens: handle.windowTokens(), complete, stream }
}

/**
 * Refuses what JSON would silently leave out or turn into `null`, so that it would count as not given.
 *
 * @param {Record<string, unknown>} options
 */
function checkKinds(options) {
  for (const [name, value] of Object.entries(options)) {
    const lost = ['function', 'symbol', 'bigint'].includes(typeof value) || (typeof value === 'number' && !Number.isFinite(value))
    if (lost) throw check.wrong(`options.${name}`, 'a value that JSON can hold', value)
    if (value !== null && typeof value === 'object' && (!check.isObject(value) || !isPlainObject(value))) throw check.wrong(`options.${name}`, 'a plain object', value)
  }
}

/** @param {object} value */
function isPlainObject(value) {
  const prototype = Object.getPrototypeOf(value)
  // The Object.prototype of another realm has no prototype of its own either.
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/**
 * A stream that asks the provider when it is first read, and closes the connection when its reader leaves.
 *
 * @param {import('./native.cjs').AdapterHandle} handle
 * @param {AbortSignal | undefined} signal
 * @param {string} call
 */
function lazyStream(handle, signal, call) {
  /** @type {Operation<null> | undefined} */
  let operation
  const { Pieces } = require('./pieces.cjs')
  /** @type {import('./pieces.cjs').Pieces<LLMChunk>} */
  const pieces = new Pieces(() => operation?.cancel())
  const iterator = pieces[Symbol.asyncIterator]()
  const begin = () => {
    if (signal?.aborted) return pieces.end({ error: abortReason(signal) })
    operation = new Operation((chunks) => chunks.forEach((chunk) => pieces.push(chunk)))
    operation.start((bridge, number) => bridge.adapterStream(number, handle, call), { signal })
    operation.promise.then(
      () => pieces.end(undefined),
      (error) => pieces.end({ error }),
    )
  }
  let begun = false
  return {
    ...iterator,
    next() {
      if (!begun) {
        begun = true
        begin()
      }
      return iterator.next()
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/**
 * @param {unknown} messages
 * @param {unknown} given
 * @returns {{ signal: AbortSignal | undefined, call: string }}
 */
function checkCall(messages, given) {
  if (!check.isArray(messages)) throw check.wrong('messages', 'an array of messages', messages)
  const shapes = require('./shapes.cjs')
  for (let index = 0; index < messages.length; index++) shapes.message(messages[index], shapes.argument(`messages[${index}]`))
  const { signal, tools, maxTokens, temperature } = check.options('options', given)
  check.signal('options.signal', signal)
  if (maxTokens !== undefined && (!Number.isSafeInteger(maxTokens) || maxTokens < 1)) {
    throw check.wrong('options.maxTokens', 'a positive integer', maxTokens)
  }
  if (temperature !== undefined && !Number.isFinite(temperature)) throw check.wrong('options.temperature', 'a finite number', temperature)
  return { signal, call: check.json('messages', { messages, tools: require('./tool.cjs').toolSpecs(tools), maxTokens, temperature }) }
}

module.exports = {
  nativeAdapter,
  createGPT: (/** @type {GPTOptions | CustomGPTOptions} */ options) => createAdapter('createGPT', options),
  createClaude: (/** @type {ClaudeOptions | CustomClaudeOptions} */ options) => createAdapter('createClaude', options),
  createOpenAICompatibleAdapter: (/** @type {OpenAICompatibleOptions} */ options) => createAdapter('createOpenAICompatibleAdapter', options),
  createAnthropicAdapter: (/** @type {AnthropicAdapterOptions} */ options) => createAdapter('createAnthropicAdapter', options),
}

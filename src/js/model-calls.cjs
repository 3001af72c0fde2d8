// @ts-check
'use strict'

const { describe, wrong } = require('./check.cjs')

/** @import { LLMAdapter, LLMCompleteOptions, Message } from '../../index.js' */

/**
 * Calls `complete` of the user's adapter and answers what native code reads of the result, as JSON.
 *
 * @param {LLMAdapter} llm
 * @param {Message[]} messages
 * @param {LLMCompleteOptions} options
 */
async function callComplete(llm, messages, options) {
  const result = await llm.complete(messages, options)
  if (result === null || typeof result !== 'object') throw wrong('the result of llm.complete()', 'an object', result)
  const content = result.content ?? null
  if (content !== null && typeof content !== 'string') throw wrong('the content of llm.complete()', 'a string or null', content)
  return {
    content,
    toolCalls: completedCalls(result.toolCalls),
    usage: usageOf(result.usage, 'llm.complete()'),
    finishReason: text(result.finishReason),
    reasoningContent: text(result.reasoningContent),
  }
}

/** @param {unknown} calls */
function completedCalls(calls) {
  if (calls === undefined || calls === null) return undefined
  if (!Array.isArray(calls)) throw wrong('the toolCalls of llm.complete()', 'an array', calls)
  return calls.map((call, index) => {
    if (typeof call?.name !== 'string') throw wrong(`toolCalls[${index}].name of llm.complete()`, 'a string', call?.name)
    const input = call.input ?? {}
    if (typeof input !== 'object' || Array.isArray(input)) throw wrong(`toolCalls[${index}].input of llm.complete()`, 'an object', input)
    return { id: text(call.id), name: call.name, input }
  })
}

/**
 * Iterates `stream` of the user's adapter; text goes to `onText` as it comes, the rest to native code at the end.
 *
 * @param {Required<LLMAdapter>} llm
 * @param {Message[]} messages
 * @param {LLMCompleteOptions} options
 * @param {(delta: string) => void} onText
 * @param {() => boolean} abandoned
 */
async function callStream(llm, messages, options, onText, abandoned) {
  let content = ''
  let reasoning = ''
  /** @type {any[]} */
  const toolCallDeltas = []
  let usage
  let finishReason
  /** @type {any} */
  const chunks = await llm.stream(messages, options)
  if (typeof chunks?.[Symbol.asyncIterator] !== 'function' && typeof chunks?.[Symbol.iterator] !== 'function') {
    throw wrong('the result of llm.stream()', 'an async iterable', chunks)
  }
  for await (const chunk of chunks) {
    if (abandoned()) break
    if (chunk === null || typeof chunk !== 'object') throw wrong('a chunk of llm.stream()', 'an object', chunk)
    const delta = chunk.delta ?? ''
    if (typeof delta !== 'string') throw wrong('the delta of llm.stream()', 'a string', delta)
    if (delta !== '') {
      content += delta
      onText(delta)
    }
    if (typeof chunk.reasoningDelta === 'string') reasoning += chunk.reasoningDelta
    for (const fragment of chunk.toolCallDeltas ?? []) toolCallDeltas.push(fragmentOf(fragment))
    usage = usageOf(chunk.usage, 'llm.stream()') ?? usage
    finishReason = text(chunk.finishReason) ?? finishReason
  }
  return { content, toolCallDeltas, usage, finishReason, reasoningContent: reasoning === '' ? undefined : reasoning }
}

/** @param {any} fragment */
function fragmentOf(fragment) {
  if (fragment === null || typeof fragment !== 'object') throw wrong('a tool call delta of llm.stream()', 'an object', fragment)
  const { index, id, name, input } = fragment
  if (input != null && typeof input !== 'string') {
    throw new TypeError(`the input of a tool call delta of llm.stream() must be a string of JSON text, got ${describe(input)}`)
  }
  return { index: Number.isInteger(index) && index >= 0 ? index : undefined, id: text(id), name: text(name), input: input ?? undefined }
}

/**
 * @param {any} usage
 * @param {string} of
 */
function usageOf(usage, of) {
  if (usage === undefined || usage === null) return undefined
  if (typeof usage !== 'object') throw wrong(`the usage of ${of}`, 'an object', usage)
  const { promptTokens, completionTokens, cachedPromptTokens } = usage
  for (const [name, count] of Object.entries({ promptTokens, completionTokens, cachedPromptTokens })) {
    if (count != null && typeof count !== 'number') throw wrong(`usage.${name} of ${of}`, 'a number', count)
  }
  return { promptTokens, completionTokens, cachedPromptTokens }
}

/** @param {unknown} value */
function text(value) {
  return typeof value === 'string' ? value : undefined
}

module.exports = { callComplete, callStream }

// @ts-check
'use strict'

/** @type {Set<unknown>} */
const ROLES = new Set(['system', 'user', 'assistant', 'tool'])

/**
 * A value, short enough for an error message.
 *
 * @param {unknown} value
 */
function describe(value) {
  if (value === null || value === undefined) return String(value)
  if (typeof value === 'string') return value.length > 60 ? `${JSON.stringify(value.slice(0, 60))}… (string)` : `${JSON.stringify(value)} (string)`
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value === 'object') return 'an object'
  return `${String(value)} (${typeof value})`
}

/**
 * @param {string} name
 * @param {string} expected
 * @param {unknown} value
 */
function wrong(name, expected, value) {
  return new TypeError(`${name} must be ${expected}, got ${describe(value)}`)
}

/** @type {(name: string, value: unknown) => asserts value is string} */
function string(name, value) {
  if (typeof value !== 'string') throw wrong(name, 'a string', value)
}

/** @type {(name: string, value: unknown) => void} */
function optionalString(name, value) {
  if (value !== undefined) string(name, value)
}

/** @type {(name: string, value: unknown) => void} */
function optionalFunction(name, value) {
  if (value !== undefined && typeof value !== 'function') throw wrong(name, 'a function', value)
}

/**
 * An options argument: an object, or nothing.
 *
 * @param {string} name
 * @param {unknown} value
 * @returns {any} whose fields are yet to be checked
 */
function options(name, value) {
  if (value === undefined) return {}
  if (value === null || typeof value !== 'object') throw wrong(name, 'an object', value)
  return value
}

/** @type {(name: string, value: unknown) => void} */
function storage(name, value) {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) throw wrong(name, 'a storage object', value)
}

/** @type {(name: string, value: unknown) => void} */
function adapter(name, value) {
  if (value === null || typeof value !== 'object' && typeof value !== 'function') throw wrong(name, 'an LLMAdapter', value)
  /** @type {Partial<Record<keyof import('../../index.js').LLMAdapter, unknown>>} */
  const { complete, stream, maxContextTokens: window } = value
  if (typeof complete !== 'function') throw wrong(`${name}.complete`, 'a function', complete)
  if (stream !== undefined && typeof stream !== 'function') throw wrong(`${name}.stream`, 'a function', stream)
  if (window !== undefined && typeof window !== 'number') throw wrong(`${name}.maxContextTokens`, 'a number of tokens', window)
}

/**
 * Signals of other realms are signals too, so this looks at the shape.
 *
 * @type {(name: string, value: unknown) => asserts value is AbortSignal | undefined}
 */
function signal(name, value) {
  if (value === undefined) return
  if (value === null || typeof value !== 'object') throw wrong(name, 'an AbortSignal', value)
  /** @type {Partial<Record<keyof AbortSignal, unknown>>} */
  const { aborted, addEventListener } = value
  if (typeof aborted !== 'boolean' || typeof addEventListener !== 'function') throw wrong(name, 'an AbortSignal', value)
}

/** @type {(name: string, value: unknown) => void} */
function optionalTags(name, value) {
  if (value === undefined) return
  if (!Array.isArray(value)) throw wrong(name, 'an array of strings', value)
  value.forEach((tag, index) => string(`${name}[${index}]`, tag))
}

/** @type {(name: string, value: unknown) => void} */
function optionalMetadata(name, value) {
  if (value === undefined) return
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw wrong(name, 'an object', value)
  const text = json(name, value)
  if (!text.startsWith('{')) throw new TypeError(`${name} must be an object, got one that JSON writes as ${text.slice(0, 60)}`)
}

/** @type {(name: string, value: unknown) => void} */
function optionalTools(name, value) {
  if (value !== undefined && !Array.isArray(value)) throw wrong(name, 'an array of tools', value)
}

/**
 * The JSON text of a value that the caller gave.
 *
 * @param {string} name
 * @param {unknown} value
 * @returns {string}
 */
function json(name, value) {
  let text
  try {
    text = JSON.stringify(value)
  } catch (error) {
    throw new TypeError(`${name} cannot be written as JSON: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
  if (text === undefined) throw wrong(name, 'a value that JSON can hold', value)
  return text
}

/**
 * @param {string} name
 * @param {unknown} value
 */
function optionalCount(name, value) {
  if (value !== undefined && (!Number.isSafeInteger(value) || Number(value) < 0)) throw wrong(name, 'a non-negative integer', value)
}

/** @type {(name: string, value: unknown) => void} */
function optionalRole(name, value) {
  if (value !== undefined && !ROLES.has(value)) throw wrong(name, "'system', 'user', 'assistant' or 'tool'", value)
}

/**
 * @param {string} name
 * @param {unknown} value
 */
function optionalPositive(name, value) {
  if (value !== undefined && (!Number.isSafeInteger(value) || Number(value) < 1)) throw wrong(name, 'a positive integer', value)
}

module.exports = {
  adapter, describe, json, optionalCount, optionalFunction, optionalMetadata, optionalPositive, optionalRole, optionalString, optionalTags, optionalTools, options, signal,
  storage, string, wrong,
}

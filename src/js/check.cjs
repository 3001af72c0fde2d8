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
  if (isRevoked(value)) return 'a revoked Proxy'
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value === 'object') return 'an object'
  return `${String(value)} (${typeof value})`
}

/**
 * Of a Proxy that was revoked nothing can be read; asking whether it is an array is how one tells.
 *
 * @param {unknown} value
 */
function isRevoked(value) {
  try {
    Array.isArray(value)
    return false
  } catch {
    return true
  }
}

/**
 * @param {any} value
 * @returns {value is object}
 */
function isObject(value) {
  return value !== null && typeof value === 'object' && !isRevoked(value)
}

/**
 * @param {any} value
 * @returns {value is any[]}
 */
function isArray(value) {
  return !isRevoked(value) && Array.isArray(value)
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
  if (!isObject(value)) throw wrong(name, 'an object', value)
  return value
}

/** @type {(name: string, value: unknown) => void} */
function storage(name, value) {
  if ((typeof value !== 'function' && !isObject(value)) || isRevoked(value)) throw wrong(name, 'a storage object', value)
}

/** @type {(name: string, value: unknown) => void} */
function adapter(name, value) {
  if ((typeof value !== 'function' && !isObject(value)) || isRevoked(value)) throw wrong(name, 'an LLMAdapter', value)
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
  if (!isObject(value)) throw wrong(name, 'an AbortSignal', value)
  /** @type {Partial<Record<keyof AbortSignal, unknown>>} */
  const { aborted, addEventListener } = value
  if (typeof aborted !== 'boolean' || typeof addEventListener !== 'function') throw wrong(name, 'an AbortSignal', value)
}

/** @type {(name: string, value: unknown) => void} */
function optionalTags(name, value) {
  if (value === undefined) return
  if (!isArray(value)) throw wrong(name, 'an array of strings', value)
  value.forEach((tag, index) => string(`${name}[${index}]`, tag))
}

/** @type {(name: string, value: unknown) => void} */
function optionalMetadata(name, value) {
  if (value === undefined) return
  if (!isObject(value) || Array.isArray(value)) throw wrong(name, 'an object', value)
  const text = json(name, value)
  if (!text.startsWith('{')) throw new TypeError(`${name} must be an object, got one that JSON writes as ${text.slice(0, 60)}`)
}

/** @type {(name: string, value: unknown) => void} */
function optionalTools(name, value) {
  if (value !== undefined && !isArray(value)) throw wrong(name, 'an array of tools', value)
}

/**
 * The JSON text of a value that is not ours. What a getter or a `toJSON` of it throws is thrown as it is.
 *
 * @param {string} name
 * @param {unknown} value
 * @param {(problem: string, cause?: unknown) => Error} [complain] makes the error
 * @returns {string}
 */
function json(name, value, complain = (problem, cause) => new TypeError(`${name} ${problem}`, cause === undefined ? undefined : { cause })) {
  let text
  try {
    text = JSON.stringify(value)
  } catch (error) {
    const problem = unwritable(value, error)
    if (problem === undefined) throw error
    throw complain(`cannot be written as JSON: ${problem}`, error)
  }
  if (text === undefined) throw complain(`must be a value that JSON can hold, got ${describe(value)}`)
  return text
}

/**
 * What of a value JSON has no way to write, and where it is; `undefined` where that is not why writing it failed.
 *
 * @param {unknown} value
 * @param {unknown} error what `JSON.stringify` threw
 */
function unwritable(value, error) {
  if (error instanceof RangeError) return 'it is nested too deeply or too long'
  try {
    // A stack of our own: what is nested deeply must not end in a RangeError here.
    /** @type {Array<{ value: any, path: string, outer: any }>} */
    const open = [{ value, path: '', outer: undefined }]
    for (let step = open.pop(); step !== undefined; step = open.pop()) {
      const { path } = step
      const written = typeof step.value?.toJSON === 'function' ? step.value.toJSON() : step.value
      if (typeof written === 'bigint') return `${path === '' ? 'it' : path} is ${describe(written)}`
      if (written === null || typeof written !== 'object') continue
      for (let outer = step.outer; outer !== undefined; outer = outer.outer) {
        if (outer.value === written) return `${path} is what it is inside of`
      }
      const inner = { value: written, outer: step.outer }
      const keys = Object.keys(written)
      for (const key of keys.toReversed()) {
        const at = Array.isArray(written) ? `[${key}]` : path === '' ? key : `.${key}`
        open.push({ value: written[key], path: `${path}${at}`, outer: inner })
      }
    }
  } catch {
    // The getter or toJSON that JSON.stringify met as well.
  }
  return undefined
}

/** @param {unknown} value */
function isRole(value) {
  return ROLES.has(value)
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
  if (value !== undefined && !isRole(value)) throw wrong(name, "'system', 'user', 'assistant' or 'tool'", value)
}

/**
 * @param {string} name
 * @param {unknown} value
 */
function optionalPositive(name, value) {
  if (value !== undefined && (!Number.isSafeInteger(value) || Number(value) < 1)) throw wrong(name, 'a positive integer', value)
}

module.exports = {
  adapter, describe, isArray, isObject, isRole, json, optionalCount, optionalFunction, optionalMetadata, optionalPositive, optionalRole, optionalString, optionalTags, optionalTools, options, signal,
  storage, string, wrong,
}

// @ts-check
'use strict'

const { describe, isArray, isObject, isRole } = require('./check.cjs')

/**
 * What a value that crosses as JSON must look like, whoever it came from: who asks says how the error is put.
 *
 * @typedef {(field: string, expected: string, got: unknown) => Error} Complain `field` is `''` for the value itself
 * @typedef {(value: any, complain: Complain) => void} Shape
 */

/**
 * As JSON will write it: a driver may answer a Date or a document of its own.
 *
 * @param {any} value
 */
function written(value) {
  return value != null && typeof value.toJSON === 'function' ? value.toJSON() : value
}

/**
 * @param {string} name
 * @returns {(value: any, complain: Complain) => any}
 */
function object(name) {
  return (value, complain) => {
    const given = isObject(value) ? written(value) : value
    if (!isObject(given) || Array.isArray(given)) throw complain('', name, value)
    return given
  }
}

/** @type {(given: any, field: string, complain: Complain) => void} */
function text(given, field, complain) {
  if (typeof written(given[field]) !== 'string') throw complain(field, 'a string', given[field])
}

/** @type {(given: any, field: string, expected: string, complain: Complain, allows: (value: any) => boolean) => void} */
function optional(given, field, expected, complain, allows) {
  const value = written(given[field])
  if (value != null && !allows(value)) throw complain(field, expected, given[field])
}

const isText = (/** @type {unknown} */ value) => typeof value === 'string'
const isTexts = (/** @type {unknown} */ value) => isArray(value) && value.every(isText)

const metaObject = object('the metadata of a session')

/** @type {Shape} */
function meta(value, complain) {
  const given = metaObject(value, complain)
  text(given, 'id', complain)
  text(given, 'label', complain)
  optional(given, 'role', "'standard' or 'main'", complain, (role) => role === 'standard' || role === 'main')
  optional(given, 'status', "'active' or 'archived'", complain, (status) => status === 'active' || status === 'archived')
  optional(given, 'tags', 'an array of strings', complain, isTexts)
  text(given, 'createdAt', complain)
  text(given, 'updatedAt', complain)
}

const messageObject = object('a message')

/** @type {Shape} */
function message(value, complain) {
  const given = messageObject(value, complain)
  if (!isRole(given.role)) throw complain('role', "'system', 'user', 'assistant' or 'tool'", given.role)
  text(given, 'content', complain)
  optional(given, 'toolCallId', 'a string', complain, isText)
  optional(given, 'reasoningContent', 'a string', complain, isText)
  optional(given, 'toolCalls', 'an array', complain, isArray)
  written(given.toolCalls)?.forEach((/** @type {any} */ call, /** @type {number} */ index) => {
    const at = `toolCalls[${index}]`
    if (written(call) === null || typeof written(call) !== 'object') throw complain(at, 'an object { id, name, input }', call)
    for (const field of ['id', 'name']) text(written(call), field, (name, expected, got) => complain(`${at}.${name}`, expected, got))
    if (written(call).input === undefined) throw complain(`${at}.input`, 'an object', undefined)
  })
}

const nodeObject = object('a node')

/** @type {Shape} */
function node(value, complain) {
  const given = nodeObject(value, complain)
  text(given, 'id', complain)
  optional(given, 'parentId', 'a string or null', complain, isText)
  text(given, 'label', complain)
}

const summaryObject = object('an object { sessionId, label, l2 }')

/** @type {Shape} */
function childSummary(value, complain) {
  const given = summaryObject(value, complain)
  for (const field of ['sessionId', 'label', 'l2']) text(given, field, complain)
}

const cacheObject = object('an object { summary, compressedCount, fingerprint }')

/** @type {Shape} */
function cache(value, complain) {
  const given = cacheObject(value, complain)
  text(given, 'summary', complain)
  const count = given.compressedCount
  if (!Number.isSafeInteger(count) || count < 0) throw complain('compressedCount', 'a non-negative integer', count)
  text(given, 'fingerprint', complain)
}

const filterObject = object('an object')

/** @type {Shape} */
function filter(value, complain) {
  const given = filterObject(value, complain)
  optional(given, 'status', "'active' or 'archived'", complain, (status) => status === 'active' || status === 'archived')
  optional(given, 'role', "'standard' or 'main'", complain, (role) => role === 'standard' || role === 'main')
  optional(given, 'tags', 'an array of strings', complain, isTexts)
}

/** @type {Shape} */
function textOrNull(value, complain) {
  if (value != null && typeof value !== 'string') throw complain('', 'a string or null', value)
}

/**
 * @param {Shape} shape
 * @returns {Shape}
 */
function orNull(shape) {
  return (value, complain) => {
    if (value != null) shape(value, complain)
  }
}

/**
 * @param {string} one what each is called in errors, before its number
 * @param {Shape} shape
 * @returns {Shape}
 */
function arrayOf(one, shape) {
  return (value, complain) => {
    const given = isObject(value) ? written(value) : value
    if (!isArray(given)) throw complain('', 'an array', value)
    // Not forEach, which skips holes.
    for (let index = 0; index < given.length; index++) {
      shape(given[index], (field, expected, got) => complain(`${one} ${index}${field === '' ? '' : `: ${field}`}`, expected, got))
    }
  }
}

/**
 * An argument by its name, as a `TypeError`.
 *
 * @param {string} name
 * @returns {Complain}
 */
function argument(name) {
  return (field, expected, got) => new TypeError(`${name}${field === '' ? '' : `.${field}`} must be ${expected}, got ${describe(got)}`)
}

module.exports = { argument, arrayOf, cache, childSummary, filter, message, meta, node, orNull, textOrNull }

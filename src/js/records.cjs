// @ts-check
'use strict'

const { describe, json } = require('./check.cjs')
const { callStorage, readText, wrongShape } = require('./storage-calls.cjs')

/** @import { SessionCore } from './session-core.cjs' */

/** The record is more than a role and a content. */
const RICH = 4
/** What a record may hold besides role and content that the model is shown. */
const EXTRAS = ['toolCalls', 'toolCallId', 'isError', 'reasoningContent']

/**
 * What of each record native code knows, by which a later turn tells whether it is still the same.
 *
 * @typedef {object} SeenRecords
 * @property {number} number of the read among those of the handle
 * @property {Uint32Array} columns `length << 3 | rich << 2 | role` of each
 * @property {string[]} texts what of each the model is shown: its content, or JSON where it is rich
 */

/**
 * The records of a JavaScript storage during one turn: the objects stay here, native code works on numbers.
 *
 * @typedef {SeenRecords & { records: any[] }} LoadedRecords
 */

/**
 * Reads all that a turn needs, at once: the records, and the answer to native code in the order of its parameters.
 *
 * @param {SessionCore} core
 * @param {string} slotMethod `getInsight` or `getMemory`
 */
async function loadTurn(core, slotMethod) {
  const { storage, id } = core
  const keepsCache = typeof storage.getCompressionCache === 'function' && typeof storage.putCompressionCache === 'function'
  const [systemPrompt, slot, records, cache] = await Promise.all([
    readText(storage, 'getSystemPrompt', id),
    readText(storage, slotMethod, id),
    callStorage(storage, 'listRecords', id),
    keepsCache ? readCache(storage, id) : null,
  ])
  if (!Array.isArray(records)) throw wrongShape('listRecords', `expected an array, got ${describe(records)}`)
  const { columns, texts, links } = outline(records)
  const before = core.reads.find(({ number }) => number === core.handle.lastRead())
  const now = { number: ++core.readCount, columns, texts }
  core.reads = before === undefined ? [now] : [before, now]
  const answer = /** @type {const} */ ([
    systemPrompt,
    slot,
    columns,
    links.length === 0 ? null : JSON.stringify(links),
    cache,
    now.number,
    before === undefined ? 0 : commonStart(before, now),
    keepsCache,
  ])
  return { loaded: { ...now, records: records.slice() }, answer }
}

/**
 * The kept summary as JSON; `null` for none. A cache that fails never fails a turn.
 *
 * @param {any} storage
 * @param {string} id
 */
async function readCache(storage, id) {
  try {
    return JSON.stringify(await callStorage(storage, 'getCompressionCache', id)) ?? null
  } catch {
    return null
  }
}

/** @param {any[]} records */
function outline(records) {
  const columns = new Uint32Array(records.length)
  /** @type {string[]} */
  const texts = []
  /** @type {object[]} */
  const links = []
  for (let index = 0; index < records.length; index++) {
    const record = records[index]
    const role = roleNumber(record?.role)
    if (role < 0) throw wrongRecord(index, 'role', "'system', 'user', 'assistant' or 'tool'", record?.role)
    const content = record.content
    if (typeof content !== 'string') throw wrongRecord(index, 'content', 'a string', content)
    if (record.toolCalls == null && record.toolCallId == null && record.isError == null && record.reasoningContent == null) {
      columns[index] = (content.length << 3) | role
      texts.push(content)
    } else {
      columns[index] = (content.length << 3) | RICH | role
      const text = richText(record, index)
      texts.push(text)
      links.push(link(record, index, text.length - content.length))
    }
  }
  return { columns, texts, links }
}

/**
 * The number of a role in `History for Outline`, `src/binding/js_records.rs`; negative for none. A switch, because a
 * look-up in a map costs more than all else that is done for a record.
 *
 * @param {unknown} role
 */
function roleNumber(role) {
  switch (role) {
    case 'system':
      return 0
    case 'user':
      return 1
    case 'assistant':
      return 2
    case 'tool':
      return 3
    default:
      return -1
  }
}

/**
 * @param {any} record
 * @param {number} index
 */
function richText(record, index) {
  /** @type {Record<string, unknown>} */
  const shown = { role: record.role, content: record.content }
  for (const key of EXTRAS) if (record[key] != null) shown[key] = record[key]
  if (shown.toolCalls !== undefined) shown.toolCalls = toolCalls(shown.toolCalls, index)
  if (shown.toolCallId !== undefined && typeof shown.toolCallId !== 'string') throw wrongRecord(index, 'toolCallId', 'a string', shown.toolCallId)
  if (typeof shown.reasoningContent !== 'string') delete shown.reasoningContent
  return json('', shown, (problem) => wrongShape('listRecords', `record ${index} ${problem}`))
}

/**
 * @param {any} calls
 * @param {number} index
 */
function toolCalls(calls, index) {
  if (!Array.isArray(calls)) throw wrongRecord(index, 'toolCalls', 'an array', calls)
  return calls.map((call, n) => {
    if (typeof call?.id !== 'string') throw wrongRecord(index, `toolCalls[${n}].id`, 'a string', call?.id)
    return { id: call.id, name: String(call.name ?? ''), input: call.input ?? {} }
  })
}

/**
 * @param {any} record
 * @param {number} index
 * @param {number} extra
 */
function link(record, index, extra) {
  return {
    index,
    extra,
    ...(record.toolCallId != null && { answers: record.toolCallId }),
    ...(record.toolCalls != null && { calls: record.toolCalls.map((/** @type {any} */ call) => [call.id, String(call.name ?? '')]) }),
  }
}

/**
 * How many of the first records are the same in both. Strings that are one object compare in no time.
 *
 * @param {SeenRecords} before
 * @param {SeenRecords} now
 */
function commonStart(before, now) {
  const length = Math.min(before.texts.length, now.texts.length)
  let index = 0
  while (index < length && before.columns[index] === now.columns[index] && before.texts[index] === now.texts[index]) index++
  return index
}

/**
 * @param {number} index
 * @param {string} field
 * @param {string} expected
 * @param {unknown} value
 */
function wrongRecord(index, field, expected, value) {
  return wrongShape('listRecords', `record ${index}: ${field} must be ${expected}, got ${describe(value)}`)
}

/**
 * A copy that shares nothing with the record that anybody would change.
 *
 * @param {any} record
 */
function copyRecord(record) {
  const copy = { ...record }
  if (record.toolCalls != null) copy.toolCalls = JSON.parse(json('', record.toolCalls, (problem) => wrongShape('listRecords', `the toolCalls of a record ${problem}`)))
  return copy
}

/**
 * The messages of a prompt from its parts: a string is a system message, `[start, end]` a range of records, copies of
 * which `copy` makes, an object a message as it is.
 *
 * @param {any[]} parts
 * @param {(index: number) => any} copy
 */
function resolvePrompt(parts, copy) {
  const messages = []
  for (const part of parts) {
    if (typeof part === 'string') messages.push({ role: 'system', content: part })
    else if (!Array.isArray(part)) messages.push(part)
    else for (let index = part[0]; index < part[1]; index++) messages.push(copy(index))
  }
  return messages
}

module.exports = { copyRecord, loadTurn, resolvePrompt }

// @ts-check
'use strict'

const { describe, json } = require('./check.cjs')
const { callStorage, textOf, wrongShape } = require('./storage-calls.cjs')

/** @import { SessionCore } from './session-core.cjs' */

/** The record is more than a role and a content. */
const RICH = 4
/** What a record may hold besides role and content that the model is shown. */
const EXTRAS = ['toolCalls', 'toolCallId', 'isError', 'reasoningContent']

/**
 * What native code knows of the records of the last read, by which the next one tells which are still the same. It grows where
 * it lies: `reader` is the turn that still looks at it.
 *
 * @typedef {object} SeenRecords
 * @property {number[]} marks `rich << 2 | role` of each
 * @property {string[]} texts what of each the model is shown: its content, or JSON where it is rich
 * @property {object} [reader]
 */

/**
 * All that a turn needs of a JavaScript storage, read at once.
 *
 * @param {SessionCore} core
 * @param {string} slotMethod `getInsight` or `getMemory`
 */
async function readAll({ storage, id }, slotMethod) {
  const keepsCache = typeof storage.getCompressionCache === 'function' && typeof storage.putCompressionCache === 'function'
  const asked = [callAtOnce(storage, 'getSystemPrompt', id), callAtOnce(storage, slotMethod, id), callAtOnce(storage, 'listRecords', id)]
  if (keepsCache) asked.push(readCache(storage, id))
  const [systemPrompt, slot, records, cache = null] = await Promise.all(asked)
  if (!Array.isArray(records)) throw wrongShape('listRecords', `expected an array, got ${describe(records)}`)
  return { systemPrompt: textOf('getSystemPrompt', systemPrompt), slot: textOf(slotMethod, slot), records, cache, keepsCache }
}

/**
 * Calls a method at once, whatever the others do: what it throws is a rejection like any other.
 *
 * @param {any} storage
 * @param {string} method
 * @param {string} id
 */
function callAtOnce(storage, method, id) {
  try {
    return callStorage(storage, method, id)
  } catch (error) {
    return Promise.reject(error)
  }
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

/**
 * Makes `seen` what was seen of `records`. Answers how many of the first were in it already, and what native code has to know of the
 * others: the columns `length << 3 | rich << 2 | role`, and the ids of tool calls.
 *
 * @param {SeenRecords} seen
 * @param {any[]} records
 */
function outline(seen, records) {
  const { marks, texts } = seen
  const intact = commonStart(seen, records)
  marks.length = intact
  texts.length = intact
  const columns = new Uint32Array(records.length - intact)
  /** @type {object[]} */
  const links = []
  try {
    for (let index = intact; index < records.length; index++) {
      const record = records[index]
      const role = roleNumber(record?.role)
      if (role < 0) throw wrongRecord(index, 'role', "'system', 'user', 'assistant' or 'tool'", record?.role)
      const content = record.content
      if (typeof content !== 'string') throw wrongRecord(index, 'content', 'a string', content)
      const text = isRich(record) ? richText(record, index) : content
      const mark = isRich(record) ? RICH | role : role
      columns[index - intact] = (content.length << 3) | mark
      marks.push(mark)
      texts.push(text)
      if (mark !== role) links.push(link(record, index, text.length - content.length))
    }
  } catch (error) {
    // Native code hears nothing of this read.
    marks.length = intact
    texts.length = intact
    throw error
  }
  return { intact, columns, links }
}

/**
 * How many of the first records are those that were seen. Strings that are one object compare in no time.
 *
 * @param {SeenRecords} seen
 * @param {any[]} records
 */
function commonStart({ marks, texts }, records) {
  const length = Math.min(texts.length, records.length)
  let index = 0
  for (; index < length; index++) {
    const record = records[index]
    if (record === null || record === undefined) break
    const role = roleNumber(record.role)
    if (isRich(record)) {
      if (marks[index] !== (RICH | role) || texts[index] !== richText(record, index)) break
    } else if (marks[index] !== role || texts[index] !== record.content) break
  }
  return index
}

/** @param {any} record */
function isRich(record) {
  return record.toolCalls != null || record.toolCallId != null || record.isError != null || record.reasoningContent != null
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
 * Copies of the records from `start` to before `end`. The array is there in its full length from the beginning: growing one costs as
 * much as filling it.
 *
 * @param {any[]} records
 * @param {number} start
 * @param {number} end
 */
function copyRecords(records, start, end) {
  const copies = records.slice(start, end)
  for (let index = 0; index < copies.length; index++) copies[index] = copyRecord(copies[index])
  return copies
}

/**
 * The messages of a prompt from its parts: a string is a system message, `[start, end]` a range of records, copies of
 * which `copy` makes, an object a message as it is.
 *
 * @param {any[]} parts
 * @param {(start: number, end: number) => any[]} copy
 * @returns {any[]}
 */
function resolvePrompt(parts, copy) {
  /** @param {any} part */
  const resolve = (part) => {
    if (typeof part === 'string') return [{ role: 'system', content: part }]
    return Array.isArray(part) ? copy(part[0], part[1]) : [part]
  }
  // Arrays only: whatever else it is given, concat looks at every element.
  const [first = [], ...rest] = parts.map(resolve)
  return first.concat(...rest)
}

module.exports = { copyRecord, copyRecords, outline, readAll, resolvePrompt }

// @ts-check
'use strict'

const { StorageError } = require('./errors.cjs')
const { describe, json } = require('./check.cjs')
const shapes = require('./shapes.cjs')

/**
 * Calls a method of the user's storage, on the storage, as it is at this moment.
 *
 * @param {any} storage
 * @param {string} method
 * @param {unknown[]} args
 * @returns {Promise<any>}
 */
async function callStorage(storage, method, ...args) {
  if (typeof storage[method] !== 'function') throw new TypeError(`storage.${method} must be a function, got ${describe(storage[method])}`)
  return storage[method](...args)
}

/**
 * @param {string} method
 * @param {string} problem
 */
function wrongShape(method, problem) {
  return new StorageError(`storage.${method}() answered the wrong shape: ${problem}`, { code: 'invalid_shape' })
}

/**
 * @param {any} storage
 * @param {string} method
 * @param {string} id
 * @returns {Promise<string | null>}
 */
async function readText(storage, method, id) {
  const text = (await callStorage(storage, method, id)) ?? null
  shapes.textOrNull(text, (_, expected, got) => wrongShape(method, `expected ${expected}, got ${describe(got)}`))
  return text
}

/** @type {Record<string, import('./shapes.cjs').Shape | undefined>} */
const ANSWERS = {
  getSession: shapes.orNull(shapes.meta),
  listSessions: shapes.arrayOf('session', shapes.meta),
  listRecords: shapes.arrayOf('record', shapes.message),
  getSystemPrompt: shapes.textOrNull,
  getInsight: shapes.textOrNull,
  getMemory: shapes.textOrNull,
  getAllSessionL2s: shapes.arrayOf('child', shapes.childSummary),
  getNode: shapes.orNull(shapes.node),
}

/** A storage that cannot tell where a session stands counts as one that knows: it gets no root of ours. */
const UNKNOWN_NODE = JSON.stringify({ id: '', parentId: null, label: '' })

/**
 * A read that native code asked for: `[method, ...arguments]`. Answers JSON.
 *
 * @param {any} storage
 * @param {string} payload
 * @param {(meta: any) => void} onMeta takes the metadata of a session as the storage keeps it
 */
async function readForNative(storage, payload, onMeta) {
  const [method, ...args] = JSON.parse(payload)
  if (method === 'getNode' && typeof storage.getNode !== 'function') return UNKNOWN_NODE
  const result = (await callStorage(storage, method, ...args)) ?? null
  ANSWERS[method]?.(result, (field, expected, got) =>
    wrongShape(method, field === '' ? `expected ${expected}, got ${describe(got)}` : `${field} must be ${expected}, got ${describe(got)}`),
  )
  if (method === 'getSession') onMeta(result)
  return json(method, result, (problem) => wrongShape(method, `it ${problem}`))
}

/**
 * Writes that native code asked for, `[[method, ...arguments], …]`: all in one transaction.
 *
 * @param {any} storage
 * @param {string} payload
 * @param {any} [meta] the metadata of the session as the storage keeps it, where it is to be changed: the one write then
 */
async function applyForNative(storage, payload, meta) {
  /** @type {Array<[string, ...any[]]>} */
  const writes = JSON.parse(payload)
  for (const write of writes) if (write[0] === 'putSession') write[1] = { ...meta, ...write[1] }
  // What a transaction object cannot do, and what may fail without failing the rest, comes after it.
  const later = writes.filter(([method]) => method === 'putCompressionCache')
  const inside = writes.filter(([method]) => method !== 'putCompressionCache')
  /** @type {Set<string>} */
  const nodesPut = new Set()
  const nodesBefore = await knownNodes(storage, inside)
  try {
    if (inside.length < 2 || typeof storage.transaction !== 'function') await applyAll(storage, inside, nodesPut)
    else await applyInTransaction(storage, payload, nodesPut)
    for (const [method, node] of inside) {
      if (method !== 'putNode' || nodesPut.has(node.id)) continue
      await callStorage(storage, 'putNode', node)
      nodesPut.add(node.id)
    }
  } catch (error) {
    // A transaction that rolled back has none of them any more; not every storage has one that does.
    for (const id of nodesPut) if (!nodesBefore.has(id)) await callStorage(storage, 'removeNode', id).catch(() => {})
    throw error
  }
  for (const [method, ...args] of later) await callStorage(storage, method, ...args).catch(() => {})
}

/**
 * Which of the nodes to be put are there already, as far as the storage can tell.
 *
 * @param {any} storage
 * @param {Array<[string, ...any[]]>} writes
 * @returns {Promise<Set<string>>}
 */
async function knownNodes(storage, writes) {
  if (typeof storage.getNode !== 'function') return new Set()
  const ids = writes.filter(([method]) => method === 'putNode').map(([, node]) => node.id)
  const found = await Promise.all(ids.map(async (id) => ((await storage.getNode(id)) ? [id] : [])))
  return new Set(found.flat())
}

/**
 * @param {any} storage
 * @param {string} payload
 * @param {Set<string>} nodesPut
 */
async function applyInTransaction(storage, payload, nodesPut) {
  /** @type {Promise<void> | undefined} */
  let last
  const run = async (/** @type {any} */ tx) => {
    nodesPut.clear()
    // Parsed anew for each run: a storage may keep the objects that a run gave it.
    const writes = JSON.parse(payload).filter((/** @type {[string]} */ [method]) => method !== 'putCompressionCache')
    await applyAll(tx ?? storage, writes, nodesPut)
  }
  await storage.transaction((/** @type {any} */ tx) => (last = run(tx)))
  if (last === undefined) throw new StorageError('storage.transaction() ended without running its function', { code: 'transaction' })
  await last
}

/**
 * @param {any} target
 * @param {Array<[string, ...any[]]>} writes
 * @param {Set<string>} nodesPut
 */
async function applyAll(target, writes, nodesPut) {
  for (const [method, ...args] of writes) {
    if (method === 'clearInsightIf') {
      const [id, content] = args
      if ((await readText(target, 'getInsight', id)) === content) await callStorage(target, 'clearInsight', id)
    } else if (method === 'putNode') {
      if (typeof target.putNode !== 'function') continue
      await target.putNode(args[0])
      nodesPut.add(args[0].id)
    } else {
      await callStorage(target, method, ...args)
    }
  }
}

module.exports = { applyForNative, callStorage, readForNative, readText, wrongShape }

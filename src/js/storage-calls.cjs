// @ts-check
'use strict'

const { StorageError } = require('./errors.cjs')
const { describe, json } = require('./check.cjs')
const shapes = require('./shapes.cjs')

/**
 * Calls a method of the user's storage, on the storage, as it is at this moment. What it answers may be a promise or not.
 *
 * @param {any} storage
 * @param {string} method
 * @param {unknown[]} args
 * @returns {any}
 */
function callStorage(storage, method, ...args) {
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
  return textOf(method, await callStorage(storage, method, id))
}

/**
 * @param {string} method
 * @param {unknown} answer
 * @returns {string | null}
 */
function textOf(method, answer) {
  const text = answer ?? null
  shapes.textOrNull(text, (_, expected, got) => wrongShape(method, `expected ${expected}, got ${describe(got)}`))
  return /** @type {string | null} */ (text)
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
  const writes = parseWrites(payload)
  for (const write of writes) if (write[0] === 'putSession') write[1] = { ...meta, ...write[1] }
  // What a transaction object cannot do, and what may fail without failing the rest, comes after it.
  const later = writes.filter(isLater)
  const inside = later.length === 0 ? writes : writes.filter((write) => !isLater(write))
  const nodes = inside.filter(([method]) => method === 'putNode')
  if (nodes.length > 0) await applyWithNodes(storage, payload, inside, nodes)
  else await applyWhole(storage, payload, inside, new Set())
  for (const [method, ...args] of later) {
    try {
      await callStorage(storage, method, ...args)
    } catch {
      // As said: it does not fail the rest.
    }
  }
}

/**
 * A write as native code says it.
 *
 * @typedef {[method: string, ...args: any[]]} Write
 *
 * @param {string} payload
 * @returns {Write[]}
 */
function parseWrites(payload) {
  return JSON.parse(payload)
}

/** @param {Write} write */
function isLater([method]) {
  return method === 'putCompressionCache'
}

/**
 * Also puts the nodes that a transaction object could not, and takes back those of a failure.
 *
 * @param {any} storage
 * @param {string} payload
 * @param {Write[]} inside
 * @param {Write[]} nodes
 */
async function applyWithNodes(storage, payload, inside, nodes) {
  /** @type {Set<string>} */
  const nodesPut = new Set()
  const nodesBefore = await knownNodes(storage, nodes)
  try {
    await applyWhole(storage, payload, inside, nodesPut)
    for (const [, node] of nodes) {
      if (nodesPut.has(node.id)) continue
      await callStorage(storage, 'putNode', node)
      nodesPut.add(node.id)
    }
  } catch (error) {
    // A transaction that rolled back has none of them any more; not every storage has one that does.
    for (const id of nodesPut) if (!nodesBefore.has(id)) await removeNode(storage, id)
    throw error
  }
}

/**
 * @param {any} storage
 * @param {string} id
 */
async function removeNode(storage, id) {
  try {
    await callStorage(storage, 'removeNode', id)
  } catch {
    // The failure that led here counts.
  }
}

/**
 * @param {any} storage
 * @param {string} payload
 * @param {Write[]} inside
 * @param {Set<string>} nodesPut
 */
function applyWhole(storage, payload, inside, nodesPut) {
  const alone = inside.length < 2 || typeof storage.transaction !== 'function'
  return alone ? applyAll(storage, inside, nodesPut) : applyInTransaction(storage, payload, inside, nodesPut)
}

/**
 * Which of the nodes to be put are there already, as far as the storage can tell.
 *
 * @param {any} storage
 * @param {Write[]} nodes
 * @returns {Promise<Set<string>>}
 */
async function knownNodes(storage, nodes) {
  if (typeof storage.getNode !== 'function') return new Set()
  const found = await Promise.all(nodes.map(async ([, { id }]) => ((await storage.getNode(id)) ? [id] : [])))
  return new Set(found.flat())
}

/**
 * @param {any} storage
 * @param {string} payload
 * @param {Write[]} inside
 * @param {Set<string>} nodesPut
 */
async function applyInTransaction(storage, payload, inside, nodesPut) {
  /** @type {Promise<void> | undefined} */
  let last
  const run = (/** @type {any} */ tx) => {
    // Parsed anew for each further run: a storage may keep the objects that a run gave it.
    const writes = last === undefined ? inside : parseWrites(payload).filter((write) => !isLater(write))
    nodesPut.clear()
    return applyAll(tx ?? storage, writes, nodesPut)
  }
  await storage.transaction((/** @type {any} */ tx) => (last = run(tx)))
  if (last === undefined) throw new StorageError('storage.transaction() ended without running its function', { code: 'transaction' })
  await last
}

/**
 * @param {any} target
 * @param {Write[]} writes
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

module.exports = { applyForNative, callStorage, readForNative, textOf, wrongShape }

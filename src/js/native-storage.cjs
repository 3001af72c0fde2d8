// @ts-check
'use strict'

const { AsyncLocalStorage } = require('node:async_hooks')
const { isProxy } = require('node:util/types')
const native = require('./addon.cjs')
const check = require('./check.cjs')
const { StorageError } = require('./errors.cjs')
const { Operation, getBridge, nextNumber } = require('./operation.cjs')

/** @import { StorageHandle, TransactionHandle } from './native.cjs' */
/** @typedef {import('../../index.js').NativeStorage} Interface */

/** Where a native storage keeps its handle: a symbol, so that a Proxy or a subclass still finds it. */
const HANDLE = Symbol('stello.storage')

/**
 * The transaction in whose function the running code is, per storage. `open` until its function has settled: what one does
 * that was given up on fails, instead of being done outside of it. `failed` once a transaction that joined it has failed.
 *
 * @typedef {{ storage: NativeStorage, transaction: TransactionHandle, open: boolean, failed: boolean, outer: Joined | undefined }} Joined
 * @type {AsyncLocalStorage<Joined>}
 */
const joined = new AsyncLocalStorage()

/** @param {StorageHandle} handle */
function joinedTransaction(handle) {
  for (let scope = joined.getStore(); scope !== undefined; scope = scope.outer) {
    if (scope.open && scope.storage[HANDLE] === handle) return scope
  }
  return undefined
}

/**
 * @param {any} storage
 * @param {string} method
 * @returns {StorageHandle}
 */
function handleOf(storage, method) {
  const handle = storage?.[HANDLE]
  if (handle === undefined) throw new TypeError(`${method}() must be called as a method of its storage: storage.${method}(…)`)
  return handle
}

const ON_STORAGE = { onStorage: true }

/**
 * Runs a method in Rust: on the transaction that the running code belongs to, else on the storage.
 *
 * @param {NativeStorage} storage
 * @param {string} method
 * @param {unknown[]} args
 * @returns {Promise<any>}
 */
async function invoke(storage, method, ...args) {
  const handle = handleOf(storage, method)
  const text = check.json(`the arguments of ${method}()`, args)
  const scope = joinedTransaction(handle)
  if (scope !== undefined) {
    return await new Operation().start((bridge, number) => bridge.transactionCall(number, scope.transaction, method, text), ON_STORAGE).promise
  }
  const number = nextNumber()
  const now = getBridge().storageCall(number, handle, method, text)
  return now === null ? await new Operation(undefined, number).start(() => {}, ON_STORAGE).promise : JSON.parse(now)
}

/**
 * The shapes are loaded with the first value that is looked at: an application waits for what is loaded before that.
 *
 * @param {'meta' | 'filter' | 'message' | 'node' | 'cache'} shape
 * @param {string} name
 * @param {unknown} value
 */
function checkShape(shape, name, value) {
  const shapes = require('./shapes.cjs')
  shapes[shape](value, shapes.argument(name))
}

/**
 * What the native storages have in common: the public storage interface over a handle.
 */
class NativeStorage {
  /** @param {StorageHandle} handle */
  constructor(handle) {
    this[HANDLE] = handle
    Object.defineProperty(this, HANDLE, { enumerable: false, writable: false, configurable: false })
  }

  /** @type {Interface['getSession']} */
  async getSession(id) {
    check.string('id', id)
    return await invoke(this, 'getSession', id)
  }

  /** @type {Interface['putSession']} */
  async putSession(session) {
    checkShape('meta', 'session', session)
    return await done(invoke(this, 'putSession', session))
  }

  /** @type {Interface['listSessions']} */
  async listSessions(filter) {
    if (filter !== undefined) checkShape('filter', 'filter', filter)
    return await invoke(this, 'listSessions', filter ?? {})
  }

  /** @type {Interface['appendRecord']} */
  async appendRecord(sessionId, record) {
    check.string('sessionId', sessionId)
    checkShape('message', 'record', record)
    return await done(invoke(this, 'appendRecord', sessionId, record))
  }

  /** @type {Interface['listRecords']} */
  async listRecords(sessionId, options) {
    check.string('sessionId', sessionId)
    const { role, limit, offset, last } = check.options('options', options)
    check.optionalRole('options.role', role)
    check.optionalCount('options.limit', limit)
    check.optionalCount('options.offset', offset)
    check.optionalCount('options.last', last)
    return await invoke(this, 'listRecords', sessionId, { role, limit, offset, last })
  }

  /** @type {Interface['trimRecords']} */
  async trimRecords(sessionId, keepRecent) {
    check.string('sessionId', sessionId)
    if (!Number.isSafeInteger(keepRecent) || keepRecent < 0) throw new TypeError('keepRecent must be a non-negative integer')
    return await done(invoke(this, 'trimRecords', sessionId, keepRecent))
  }

  /** @type {Interface['getSystemPrompt']} */
  async getSystemPrompt(sessionId) {
    check.string('sessionId', sessionId)
    return await invoke(this, 'getSystemPrompt', sessionId)
  }

  /** @type {Interface['putSystemPrompt']} */
  async putSystemPrompt(sessionId, content) {
    return put(this, 'putSystemPrompt', sessionId, content)
  }

  /** @type {Interface['getInsight']} */
  async getInsight(sessionId) {
    check.string('sessionId', sessionId)
    return await invoke(this, 'getInsight', sessionId)
  }

  /** @type {Interface['putInsight']} */
  async putInsight(sessionId, content) {
    return put(this, 'putInsight', sessionId, content)
  }

  /** @type {Interface['clearInsight']} */
  async clearInsight(sessionId) {
    check.string('sessionId', sessionId)
    return await done(invoke(this, 'clearInsight', sessionId))
  }

  /** @type {Interface['getMemory']} */
  async getMemory(sessionId) {
    check.string('sessionId', sessionId)
    return await invoke(this, 'getMemory', sessionId)
  }

  /** @type {Interface['putMemory']} */
  async putMemory(sessionId, content) {
    return put(this, 'putMemory', sessionId, content)
  }

  /** @type {Interface['getAllSessionL2s']} */
  async getAllSessionL2s() {
    return await invoke(this, 'getAllSessionL2s')
  }

  /** @type {Interface['putNode']} */
  async putNode(node) {
    checkShape('node', 'node', node)
    return await done(invoke(this, 'putNode', node))
  }

  /** @type {Interface['getNode']} */
  async getNode(id) {
    check.string('id', id)
    return await invoke(this, 'getNode', id)
  }

  /** @type {Interface['getChildren']} */
  async getChildren(parentId) {
    if (parentId !== null) check.string('parentId', parentId)
    return await invoke(this, 'getChildren', parentId)
  }

  /** @type {Interface['removeNode']} */
  async removeNode(nodeId) {
    check.string('nodeId', nodeId)
    return await done(invoke(this, 'removeNode', nodeId))
  }

  /** @type {Interface['getGlobal']} */
  async getGlobal(key) {
    check.string('key', key)
    return await invoke(this, 'getGlobal', key)
  }

  /** @type {Interface['putGlobal']} */
  async putGlobal(key, value) {
    check.string('key', key)
    // JSON would write `null` for a function.
    check.json('value', value ?? null)
    return await done(invoke(this, 'putGlobal', key, value))
  }

  /** @type {Interface['getCompressionCache']} */
  async getCompressionCache(sessionId) {
    check.string('sessionId', sessionId)
    return await invoke(this, 'getCompressionCache', sessionId)
  }

  /** @type {Interface['putCompressionCache']} */
  async putCompressionCache(sessionId, cache) {
    check.string('sessionId', sessionId)
    checkShape('cache', 'cache', cache)
    return await done(invoke(this, 'putCompressionCache', sessionId, cache))
  }

  /** @type {Interface['deleteSession']} */
  async deleteSession(id) {
    check.string('id', id)
    return await done(invoke(this, 'deleteSession', id))
  }

  /** @type {Interface['close']} */
  async close() {
    const handle = handleOf(this, 'close')
    return await done(new Operation().start((bridge, number) => bridge.storageClose(number, handle)).promise)
  }

  /** @type {Interface['transaction']} */
  async transaction(fn) {
    if (typeof fn !== 'function') throw check.wrong('fn', 'a function', fn)
    const handle = handleOf(this, 'transaction')
    const outer = joinedTransaction(handle)
    if (outer !== undefined) return join(this, outer, fn)
    const transaction = new native.TransactionHandle()
    /** @type {number} */
    const limitMs = await new Operation().start((bridge, number) => bridge.storageBegin(number, handle, transaction)).promise
    const scope = { storage: this, transaction, open: true, failed: false, outer: joined.getStore() }
    const end = (/** @type {boolean} */ commit) => new Operation().start((bridge, number) => bridge.transactionEnd(number, transaction, commit)).promise
    const run = joined.run(scope, async () => fn(transactionView(this, scope))).finally(() => (scope.open = false))
    let result
    try {
      result = await within(limitMs, run)
      if (scope.failed) throw new StorageError('a transaction that had joined this one failed, so this one was rolled back', { code: 'transaction' })
    } catch (error) {
      // What made the transaction fail is what the caller hears of.
      await end(false).catch(() => {})
      throw error
    }
    await end(true)
    return result
  }
}

/**
 * A transaction within another. What it did cannot be undone by itself, so where it fails neither may be kept.
 *
 * @template T
 * @param {NativeStorage} storage
 * @param {Joined} scope
 * @param {(tx: any) => Promise<T>} fn
 */
async function join(storage, scope, fn) {
  try {
    return await fn(transactionView(storage, scope))
  } catch (error) {
    scope.failed = true
    throw error
  }
}

/** The longest time that a timer takes; a longer one would end at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/**
 * What `run` comes to, unless it takes longer than a transaction may.
 *
 * @template T
 * @param {number} limitMs
 * @param {Promise<T>} run
 * @returns {Promise<T>}
 */
async function within(limitMs, run) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((_, reject) => {
    const message = `the transaction was open for longer than ${limitMs} ms and was rolled back`
    timer = setTimeout(() => reject(new StorageError(message, { code: 'transaction' })), Math.min(limitMs, LONGEST_TIMER_MS))
  })
  try {
    return await Promise.race([run, /** @type {Promise<never>} */ (late)])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * The methods that a session may call: replaced ones must be called, so their originals are kept.
 *
 * @type {Map<string, unknown>}
 */
const ORIGINALS = new Map(
  Object.entries(Object.getOwnPropertyDescriptors(NativeStorage.prototype))
    .filter(([name]) => name !== 'constructor')
    .map(([name, { value }]) => [name, value]),
)

/**
 * The storage as a transaction's function sees it: the same methods, replaced ones too, all inside the transaction.
 *
 * @param {any} storage
 * @param {Joined} scope
 */
function transactionView(storage, scope) {
  const view = Object.create(storage)
  for (const name of ORIGINALS.keys()) {
    view[name] = async (/** @type {any[]} */ ...args) => {
      if (!scope.open) throw new StorageError(`${name}() was called on a transaction that has ended`, { code: 'transaction' })
      return joined.run(scope, () => storage[name](...args))
    }
  }
  return view
}

/** @type {WeakMap<object, StorageHandle>} */
const foreignHandles = new WeakMap()

/**
 * The handle of any storage object; the same for the same object.
 *
 * @param {any} storage
 */
function storageHandle(storage) {
  const own = storage[HANDLE]
  // A Proxy of the application may answer to any name.
  if (own instanceof native.StorageHandle) return own
  let handle = foreignHandles.get(storage)
  if (handle === undefined) foreignHandles.set(storage, (handle = native.StorageHandle.javascript()))
  return handle
}

/**
 * The handle of a storage that Rust may use directly at this moment: a native one, no method of which was
 * replaced, outside of its transactions.
 *
 * @param {any} storage
 */
function directHandle(storage) {
  const handle = storage[HANDLE]
  if (handle === undefined || isProxy(storage)) return null
  for (const [name, original] of ORIGINALS) if (storage[name] !== original) return null
  return joinedTransaction(handle) === undefined ? handle : null
}

/**
 * @param {NativeStorage} storage
 * @param {string} method
 * @param {unknown} sessionId
 * @param {unknown} content
 */
async function put(storage, method, sessionId, content) {
  check.string('sessionId', sessionId)
  check.string('content', content)
  await invoke(storage, method, sessionId, content)
}

/** @param {Promise<unknown>} promise */
async function done(promise) {
  await promise
}

module.exports = { NativeStorage, directHandle, storageHandle }

// @ts-check
'use strict'

const { AsyncLocalStorage } = require('node:async_hooks')
const { isProxy } = require('node:util/types')
const native = require('./native.cjs')
const check = require('./check.cjs')
const { StorageError } = require('./errors.cjs')
const { Operation, getBridge, nextNumber } = require('./operation.cjs')

/** Where a native storage keeps its handle: a symbol, so that a Proxy or a subclass still finds it. */
const HANDLE = Symbol('stello.storage')

/**
 * The transaction in whose function the running code is, per storage.
 *
 * @typedef {{ storage: NativeStorage, transaction: import('./native.cjs').TransactionHandle, open: boolean, outer: Joined | undefined }} Joined
 * @type {AsyncLocalStorage<Joined>}
 */
const joined = new AsyncLocalStorage()

/** @param {any} handle */
function joinedTransaction(handle) {
  for (let scope = joined.getStore(); scope !== undefined; scope = scope.outer) {
    if (scope.open && scope.storage[HANDLE] === handle) return scope
  }
  return undefined
}

/**
 * Runs a method in Rust: on the transaction that the running code belongs to, else on the storage.
 *
 * @param {any} storage
 * @param {string} method
 * @param {unknown[]} args
 * @returns {Promise<any>}
 */
async function invoke(storage, method, ...args) {
  const handle = storage[HANDLE]
  const text = check.json(`the arguments of ${method}()`, args)
  const scope = joinedTransaction(handle)
  if (scope !== undefined) {
    return new Operation().start((bridge, number) => bridge.transactionCall(number, scope.transaction, method, text)).promise
  }
  const number = nextNumber()
  const now = getBridge().storageCall(number, handle, method, text)
  return now === null ? new Operation(undefined, number).start(() => {}).promise : JSON.parse(now)
}

/**
 * What the native storages have in common: the public storage interface over a handle.
 */
class NativeStorage {
  /** @param {import('./native.cjs').StorageHandle} handle */
  constructor(handle) {
    Object.defineProperty(this, HANDLE, { value: handle })
  }

  async getSession(id) {
    check.string('id', id)
    return invoke(this, 'getSession', id)
  }

  async putSession(session) {
    checkObject('session', session)
    return done(invoke(this, 'putSession', session))
  }

  async listSessions(filter) {
    return invoke(this, 'listSessions', check.options('filter', filter))
  }

  async appendRecord(sessionId, record) {
    check.string('sessionId', sessionId)
    checkObject('record', record)
    return done(invoke(this, 'appendRecord', sessionId, record))
  }

  async listRecords(sessionId, options) {
    check.string('sessionId', sessionId)
    const { role, limit, offset, last } = check.options('options', options)
    check.optionalRole('options.role', role)
    check.optionalCount('options.limit', limit)
    check.optionalCount('options.offset', offset)
    check.optionalCount('options.last', last)
    return invoke(this, 'listRecords', sessionId, { role, limit, offset, last })
  }

  async trimRecords(sessionId, keepRecent) {
    check.string('sessionId', sessionId)
    if (!Number.isSafeInteger(keepRecent) || keepRecent < 0) throw new TypeError('keepRecent must be a non-negative integer')
    return done(invoke(this, 'trimRecords', sessionId, keepRecent))
  }

  async getSystemPrompt(sessionId) {
    check.string('sessionId', sessionId)
    return invoke(this, 'getSystemPrompt', sessionId)
  }

  async putSystemPrompt(sessionId, content) {
    return put(this, 'putSystemPrompt', sessionId, content)
  }

  async getInsight(sessionId) {
    check.string('sessionId', sessionId)
    return invoke(this, 'getInsight', sessionId)
  }

  async putInsight(sessionId, content) {
    return put(this, 'putInsight', sessionId, content)
  }

  async clearInsight(sessionId) {
    check.string('sessionId', sessionId)
    return done(invoke(this, 'clearInsight', sessionId))
  }

  async getMemory(sessionId) {
    check.string('sessionId', sessionId)
    return invoke(this, 'getMemory', sessionId)
  }

  async putMemory(sessionId, content) {
    return put(this, 'putMemory', sessionId, content)
  }

  async getAllSessionL2s() {
    return invoke(this, 'getAllSessionL2s')
  }

  async putNode(node) {
    checkObject('node', node)
    return done(invoke(this, 'putNode', node))
  }

  async getNode(id) {
    check.string('id', id)
    return invoke(this, 'getNode', id)
  }

  async getChildren(parentId) {
    if (parentId !== null) check.string('parentId', parentId)
    return invoke(this, 'getChildren', parentId)
  }

  async removeNode(nodeId) {
    check.string('nodeId', nodeId)
    return done(invoke(this, 'removeNode', nodeId))
  }

  async getGlobal(key) {
    check.string('key', key)
    return invoke(this, 'getGlobal', key)
  }

  async putGlobal(key, value) {
    check.string('key', key)
    return done(invoke(this, 'putGlobal', key, value))
  }

  async getCompressionCache(sessionId) {
    check.string('sessionId', sessionId)
    return invoke(this, 'getCompressionCache', sessionId)
  }

  async putCompressionCache(sessionId, cache) {
    check.string('sessionId', sessionId)
    checkObject('cache', cache)
    return done(invoke(this, 'putCompressionCache', sessionId, cache))
  }

  async deleteSession(id) {
    check.string('id', id)
    return done(invoke(this, 'deleteSession', id))
  }

  async close() {
    return done(new Operation().start((bridge, number) => bridge.storageClose(number, this[HANDLE])).promise)
  }

  async transaction(fn) {
    if (typeof fn !== 'function') throw check.wrong('fn', 'a function', fn)
    const handle = this[HANDLE]
    const outer = joinedTransaction(handle)
    if (outer !== undefined) return fn(transactionView(this, outer))
    const transaction = new native.TransactionHandle()
    await new Operation().start((bridge, number) => bridge.storageBegin(number, handle, transaction)).promise
    const scope = { storage: this, transaction, open: true, outer: joined.getStore() }
    const end = (commit) => {
      scope.open = false
      return new Operation().start((bridge, number) => bridge.transactionEnd(number, transaction, commit)).promise
    }
    let result
    try {
      result = await joined.run(scope, async () => fn(transactionView(this, scope)))
    } catch (error) {
      // What made the transaction fail is what the caller hears of.
      await end(false).catch(() => {})
      throw error
    }
    await end(true)
    return result
  }
}

/** The methods that a session may call: replaced ones must be called, so their originals are kept. */
const ORIGINALS = new Map(
  Object.getOwnPropertyNames(NativeStorage.prototype)
    .filter((name) => name !== 'constructor')
    .map((name) => [name, NativeStorage.prototype[name]]),
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

/** @type {WeakMap<object, import('./native.cjs').StorageHandle>} */
const foreignHandles = new WeakMap()

/**
 * The handle of any storage object; the same for the same object.
 *
 * @param {any} storage
 */
function storageHandle(storage) {
  const own = storage[HANDLE]
  if (own !== undefined) return own
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

async function put(storage, method, sessionId, content) {
  check.string('sessionId', sessionId)
  check.string('content', content)
  await invoke(storage, method, sessionId, content)
}

async function done(promise) {
  await promise
}

function checkObject(name, value) {
  if (value === null || typeof value !== 'object') throw check.wrong(name, 'an object', value)
}

/** Keeps everything in this process's memory, natively; gone with the process. */
class InMemoryStorageAdapter extends NativeStorage {
  constructor() {
    super(native.StorageHandle.memory())
  }
}

/** Keeps everything in one SQLite file, which is made and migrated on first use. */
class SqliteStorageAdapter extends NativeStorage {
  /** @param {any} options */
  constructor(options) {
    const { path, synchronous, busyTimeoutMs, transactionTimeoutMs } = check.options('options', options)
    check.string('options.path', path)
    if (path === '') throw check.wrong('options.path', "a file's path or ':memory:'", path)
    if (synchronous !== undefined && synchronous !== 'full' && synchronous !== 'normal') {
      throw check.wrong('options.synchronous', "'full' or 'normal'", synchronous)
    }
    check.optionalCount('options.busyTimeoutMs', busyTimeoutMs)
    check.optionalCount('options.transactionTimeoutMs', transactionTimeoutMs)
    super(native.StorageHandle.sqlite(JSON.stringify({ path, synchronous, busyTimeoutMs, transactionTimeoutMs })))
  }
}

module.exports = { InMemoryStorageAdapter, NativeStorage, SqliteStorageAdapter, directHandle, storageHandle }

// @ts-check
'use strict'

const native = require('./addon.cjs')
const check = require('./check.cjs')
const { Operation } = require('./operation.cjs')
const { Ask } = require('./dispatch.cjs')
const { directHandle, storageHandle } = require('./native-storage.cjs')

/** @import { CompressFn, ConsolidateFn, IntegrateFn, LLMAdapter, SessionMeta, ToolSpec } from '../../index.js' */
/** @import { SessionHandle } from './native.cjs' */

/**
 * What a session is given to work with.
 *
 * @typedef {{ llm?: LLMAdapter, tools?: ToolSpec[], compressFn?: CompressFn, consolidateFn?: ConsolidateFn, integrateFn?: IntegrateFn }} Bound
 * @typedef {Bound & { storage: any }} Given
 */

/** What is behind the methods of a session: the native handle, and what only JavaScript can hold. */
class SessionCore {
  handle = new native.SessionHandle()
  /** @type {import('./shown-records.cjs').ShownRecords | undefined} */ #shown
  /** What was read of a JavaScript storage. @type {import('./records.cjs').SeenRecords} */
  #seen = { marks: [], texts: [] }
  /** @type {SessionMeta | undefined} */ #meta
  #metaVersion = -1
  /** @type {string | undefined} */ #id
  /** @type {number | undefined} */ #key

  /**
   * @param {'standard' | 'main'} kind
   * @param {Given} given
   */
  constructor(kind, { storage, llm, tools, compressFn, consolidateFn, integrateFn }) {
    this.kind = kind
    this.storage = storage
    this.llm = llm
    this.tools = tools
    this.compressFn = compressFn
    this.consolidateFn = consolidateFn
    this.integrateFn = integrateFn
    this.storageHandle = storageHandle(storage)
  }

  /** @returns {SessionMeta} */
  get meta() {
    const version = this.handle.version()
    if (this.#meta === undefined || version !== this.#metaVersion) {
      this.#meta = freeze(/** @type {SessionMeta} */ (JSON.parse(this.handle.meta())))
      this.#metaVersion = version
    }
    return this.#meta
  }

  /** What a model in JavaScript was shown of a native storage's records. */
  get shown() {
    return (this.#shown ??= new (require('./shown-records.cjs').ShownRecords)())
  }

  get id() {
    return (this.#id ??= this.meta.id)
  }

  /** The same number for all handles on this session of this storage object. */
  get key() {
    return (this.#key ??= this.handle.key())
  }

  /**
   * What was read of a JavaScript storage, for a turn that reads again; another one may still be looking at it that was
   * cancelled and has not ended, or that this one overtakes.
   *
   * @param {object} reader
   */
  seenBy(reader) {
    const seen = this.#seen
    if (seen.reader === undefined || seen.reader === reader) seen.reader = reader
    else this.#seen = { marks: seen.marks.slice(), texts: seen.texts.slice(), reader }
    return this.#seen
  }

  /** @param {object} reader that looks no more */
  leave(reader) {
    if (this.#seen.reader === reader) this.#seen.reader = undefined
  }

  /**
   * Runs an operation of `invoke` in `src/binding/invoke.rs`.
   *
   * @param {string} name
   * @param {unknown[]} args
   * @param {{ fn?: (...args: any[]) => any, made?: SessionCore }} [options] the application's function that the operation
   * calls; the session that it makes
   * @returns {Promise<any>}
   */
  invoke(name, args, { fn, made } = {}) {
    return invokeOn(this.storage, name, args, { session: this.handle, made: made?.handle, fn })
  }
}

/**
 * An operation on a storage, which may be JavaScript's, with perhaps one function of the application.
 *
 * @extends {Operation<any>}
 */
class StorageOperation extends Operation {
  #storage
  #fn
  /** What the storage keeps as the metadata of the session, with the properties that only it knows. @type {any} */
  #meta

  /**
   * @param {any} storage
   * @param {((...args: any[]) => any) | undefined} fn
   */
  constructor(storage, fn) {
    super()
    this.#storage = storage
    this.#fn = fn
  }

  /**
   * @override
   * @type {Operation<any>['answer']}
   */
  async answer(bridge, question, ask, payload) {
    switch (ask) {
      case Ask.Storage:
        return bridge.answer(question, await require('./storage-calls.cjs').readForNative(this.#storage, payload, (meta) => (this.#meta = meta)))
      case Ask.Apply:
        await require('./storage-calls.cjs').applyForNative(this.#storage, payload, this.#meta)
        return bridge.answer(question, 'null')
      case Ask.Function: {
        const fn = this.#fn
        const result = await fn?.(...JSON.parse(payload))
        return bridge.answer(question, result === undefined ? 'undefined' : check.json('what the function returned', result))
      }
      default:
        return super.answer(bridge, question, ask, payload)
    }
  }
}

/**
 * @param {any} storage
 * @param {string} name
 * @param {unknown[]} args
 * @param {{ session?: SessionHandle, made?: SessionHandle, fn?: (...args: any[]) => any }} [options]
 * @returns {Promise<any>}
 */
function invokeOn(storage, name, args, { session, made, fn } = {}) {
  const operation = new StorageOperation(storage, fn)
  const text = check.json('the arguments', args)
  const direct = directHandle(storage) !== null
  operation.start((bridge, number) =>
    bridge.invoke(number, name, storageHandle(storage), direct, session ?? null, made ?? null, text),
  )
  return operation.promise
}

/**
 * Freezes a value that JSON.parse made, all the way down.
 *
 * @template T
 * @param {T} value
 * @returns {T}
 */
function freeze(value) {
  if (value !== null && typeof value === 'object') Object.values(Object.freeze(value)).forEach(freeze)
  return value
}

module.exports = { SessionCore, invokeOn }

// @ts-check
'use strict'

const check = require('./check.cjs')
const { SessionArchivedError } = require('./errors.cjs')
const { abortReason, insideTurnOf } = require('./operation.cjs')
const { SessionCore } = require('./session-core.cjs')

// What is needed by what a session does, and not for making one, is loaded when it is needed: each file takes its part of the time that
// an application waits for its first line.

/** @import { Bound } from './session-core.cjs' */

/**
 * The core behind a session object, by its `fork` function: so a spread copy of a session is that session too.
 *
 * @type {WeakMap<Function, SessionCore>}
 */
const cores = new WeakMap()

/** @type {typeof import('./turn.cjs').TurnOperation | undefined} */
let TurnOperation

/** Only this package makes sessions. */
const KEY = Symbol('stello.session')

/**
 * What sessions and main sessions can do. Each is called with the core first, and becomes a method that needs no `this`.
 *
 * @type {Record<string, (core: SessionCore, ...args: any[]) => any>}
 */
const shared = {
  async send(core, content, options) {
    return await beginTurn(core, 'send()', content, options, undefined).promise
  },

  stream(core, content, options) {
    const { Pieces } = require('./pieces.cjs')
    const { TurnStream } = require('./stream.cjs')
    /** @type {import('./pieces.cjs').Pieces<string>} */
    const pieces = new Pieces()
    const { signal } = checkTurn(core, 'stream()', content, options)
    let result
    try {
      result = beginTurn(core, 'stream()', content, { signal }, pieces).promise
    } catch (error) {
      result = Promise.reject(error)
    }
    return new TurnStream(pieces, result)
  },

  async messages(core, options) {
    const { role, limit, offset } = check.options('options', options)
    check.optionalRole('options.role', role)
    check.optionalCount('options.limit', limit)
    check.optionalCount('options.offset', offset)
    const { copyRecord } = require('./records.cjs')
    const { callStorage, wrongShape } = require('./storage-calls.cjs')
    const query = [role, limit, offset].every((value) => value === undefined) ? [] : [withoutUndefined({ role, limit, offset })]
    const records = await callStorage(core.storage, 'listRecords', core.id, ...query)
    if (!Array.isArray(records)) throw wrongShape('listRecords', `expected an array, got ${check.describe(records)}`)
    return records.map(copyRecord)
  },

  async systemPrompt(core) {
    return await core.invoke('systemPrompt', [])
  },

  async setSystemPrompt(core, content) {
    check.string('content', content)
    await core.invoke('setSystemPrompt', [content])
  },

  async trimRecords(core, keepRecent) {
    if (!Number.isSafeInteger(keepRecent) || keepRecent < 0) throw new TypeError('keepRecent must be a non-negative integer')
    await core.invoke('trimRecords', [keepRecent])
  },

  async updateMeta(core, updates) {
    const { label, tags, metadata } = check.options('updates', updates)
    check.optionalString('updates.label', label)
    check.optionalTags('updates.tags', tags)
    check.optionalMetadata('updates.metadata', metadata)
    await core.invoke('updateMeta', [{ label, tags, metadata }])
  },

  async archive(core) {
    await core.invoke('archive', [])
  },

  async fork(core, options) {
    return await forkAs(core, 'fork', options)
  },

  setLLM(core, adapter) {
    check.adapter('adapter', adapter)
    core.llm = adapter
  },

  setTools(core, tools) {
    require('./tool.cjs').toolSpecs(tools, 'tools')
    core.tools = tools
  },
}

/** @type {typeof shared} */
const ofSession = {
  ...shared,

  async insight(core) {
    return await core.invoke('insight', [])
  },

  async setInsight(core, content) {
    check.string('content', content)
    await core.invoke('setInsight', [content])
  },

  async memory(core) {
    return await core.invoke('memory', [])
  },

  async consolidate(core, fn = core.consolidateFn) {
    check.optionalFunction('fn', fn)
    refuseArchived(core)
    if (fn === undefined) throw new Error('No consolidateFn configured for this session')
    await core.invoke('consolidate', [], { fn })
  },
}

/** @type {typeof shared} */
const ofMainSession = {
  ...shared,

  async synthesis(core) {
    return await core.invoke('synthesis', [])
  },

  async integrate(core, fn = core.integrateFn) {
    check.optionalFunction('fn', fn)
    refuseArchived(core)
    if (fn === undefined) throw new Error('No integrateFn configured for this main session')
    /** @type {any} */
    let result
    // Its other fields are the caller's, and need not be what JSON can hold.
    const integrated = async (/** @type {any[]} */ ...args) => {
      result = await fn(...args)
      return result === null || typeof result !== 'object' ? result : { synthesis: result.synthesis, insights: result.insights }
    }
    const kept = await core.invoke('integrate', [], { fn: integrated })
    return { ...result, insights: kept.map((/** @type {number} */ index) => result.insights[index]) }
  },
}

// oxlint-disable typescript/no-extraneous-class -- the classes are there for instanceof, the constructors fill the objects

/** A conversation with memory. Made by `createSession`, `loadSession` and `fork`. */
class Session {
  /**
   * @param {symbol} key
   * @param {SessionCore} core
   */
  constructor(key, core) {
    if (key !== KEY) throw new TypeError('a Session is made by createSession(), loadSession() or fork()')
    attach(this, core, ofSession)
  }
}

/** The session that sees all others. Made by `createMainSession` and `loadMainSession`. */
class MainSession {
  /**
   * @param {symbol} key
   * @param {SessionCore} core
   */
  constructor(key, core) {
    if (key !== KEY) throw new TypeError('a MainSession is made by createMainSession() or loadMainSession()')
    attach(this, core, ofMainSession)
  }
}

// oxlint-enable typescript/no-extraneous-class

/**
 * Members are own properties, so that they work detached and in a spread copy.
 *
 * @param {any} session
 * @param {SessionCore} core
 * @param {typeof shared} members
 */
function attach(session, core, members) {
  for (const [name, member] of Object.entries(members)) {
    session[name] = (/** @type {any[]} */ ...args) => member(core, ...args)
    Object.defineProperty(session[name], 'name', { value: name })
  }
  cores.set(session.fork, core)
  Object.defineProperties(session, {
    meta: { get: () => core.meta, enumerable: true, configurable: true },
    tools: { get: () => core.tools, enumerable: true, configurable: true },
  })
}

/**
 * @param {SessionCore} core
 * @returns {any} a session or a main session, with the members that `attach` gives it
 */
function wrap(core) {
  return core.kind === 'main' ? new MainSession(KEY, core) : new Session(KEY, core)
}

/**
 * The core of a session of this package; `undefined` for anything else.
 *
 * @param {any} session
 */
function coreOf(session) {
  const fork = check.isObject(session) ? /** @type {any} */ (session).fork : undefined
  return typeof fork === 'function' ? cores.get(fork) : undefined
}

/** @param {SessionCore} core */
function refuseArchived(core) {
  if (core.handle.archived()) throw new SessionArchivedError(core.id)
}

/**
 * What makes a turn impossible before it begins.
 *
 * @param {SessionCore} core
 * @param {string} method
 * @param {unknown} content
 * @param {unknown} options
 */
function checkTurn(core, method, content, options) {
  if (typeof content !== 'string') checkToolResults(content)
  const { signal } = check.options('options', options)
  check.signal('options.signal', signal)
  refuseArchived(core)
  if (core.llm === undefined) throw new Error(`LLMAdapter is required for ${method}`)
  return { signal }
}

/** @param {any} content */
function checkToolResults(content) {
  if (!check.isObject(content)) throw check.wrong('content', 'a string or { toolResults }', content)
  const { toolResults } = /** @type {{ toolResults?: unknown }} */ (content)
  if (!check.isArray(toolResults)) throw check.wrong('content.toolResults', 'an array of tool results', toolResults)
  if (toolResults.length === 0) throw new TypeError('content.toolResults must hold at least one tool result, got an empty array')
}

/**
 * @param {SessionCore} core
 * @param {string} method
 * @param {any} content what checkTurn lets through
 * @param {unknown} options
 * @param {import('./pieces.cjs').Pieces<string> | undefined} pieces
 */
function beginTurn(core, method, content, options, pieces) {
  const { signal } = checkTurn(core, method, content, options)
  if (signal?.aborted) throw abortReason(signal)
  if (insideTurnOf(core.key)) {
    throw new Error(`a turn of session "${core.id}" cannot begin inside one of its own callbacks: it would wait for itself`)
  }
  TurnOperation ??= require('./turn.cjs').TurnOperation
  const operation = new TurnOperation(core, signal, pieces)
  if (typeof content === 'string') return operation.run(content, false)
  return operation.run(check.json('content', { toolResults: content.toolResults }), true)
}

/**
 * `fork`, and `forkSession` which also keeps the topology.
 *
 * @param {SessionCore} parent
 * @param {'fork' | 'forkSession'} name
 * @param {unknown} given
 * @returns {Promise<import('../../index.js').Session>}
 */
async function forkAs(parent, name, given) {
  const options = check.options('options', given)
  const { id, label, systemPrompt, context = 'none', prompt, tags, metadata } = options
  check.string('options.label', label)
  check.optionalString('options.id', id)
  check.optionalString('options.systemPrompt', systemPrompt)
  check.optionalString('options.prompt', prompt)
  if (context !== 'none' && context !== 'inherit' && typeof context !== 'function') {
    throw check.wrong('options.context', "'none', 'inherit' or a function", context)
  }
  check.optionalTags('options.tags', tags)
  check.optionalMetadata('options.metadata', metadata)
  const child = new SessionCore('standard', { storage: parent.storage, ...inherited(parent, options) })
  const fn = typeof context === 'function' ? async (/** @type {any[]} */ ...args) => messagesOf(await context(...args)) : undefined
  const kind = fn === undefined ? context : 'function'
  await parent.invoke(name, [{ id, label, systemPrompt, prompt, tags, metadata }, kind], { fn, made: child })
  return wrap(child)
}

/**
 * The history that a child's `context` function chose.
 *
 * @param {unknown} chosen
 */
function messagesOf(chosen) {
  const shapes = require('./shapes.cjs')
  shapes.arrayOf('message', shapes.message)(chosen, (field, expected, got) =>
    new TypeError(`options.context must return ${field === '' ? 'an array of messages' : `messages; ${field} must be ${expected}`}, got ${check.describe(got)}`),
  )
  return chosen
}

/**
 * Adapter, tools and functions of a child: as given, else the parent's of this moment.
 *
 * @param {SessionCore} parent
 * @param {any} options
 */
function inherited(parent, options) {
  const { llm = parent.llm, tools = parent.tools, compressFn = parent.compressFn, consolidateFn = parent.consolidateFn } = options
  const bound = { llm, tools, compressFn, consolidateFn }
  checkBound('options', bound)
  return bound
}

/**
 * What a session is given to work with.
 *
 * @param {string} name
 * @param {{ [K in keyof Bound]: unknown }} bound
 */
function checkBound(name, { llm, tools, compressFn, consolidateFn, integrateFn }) {
  if (llm !== undefined) check.adapter(`${name}.llm`, llm)
  if (tools !== undefined) require('./tool.cjs').toolSpecs(tools, `${name}.tools`)
  check.optionalFunction(`${name}.compressFn`, compressFn)
  check.optionalFunction(`${name}.consolidateFn`, consolidateFn)
  check.optionalFunction(`${name}.integrateFn`, integrateFn)
}

/** @param {Record<string, unknown>} object */
function withoutUndefined(object) {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))
}

module.exports = { MainSession, Session, checkBound, coreOf, forkAs, wrap }

// @ts-check
'use strict'

const check = require('./check.cjs')
const { SessionCore, invokeOn } = require('./session-core.cjs')
const { checkBound, coreOf, forkAs, wrap } = require('./session.cjs')

/**
 * @import { CreateMainSessionOptions, CreateSessionOptions, ForkOptions, LoadMainSessionOptions, LoadSessionOptions, MainSession, MainStorage,
 *   Session, SessionDigest, SessionDigestFilter } from '../../index.js'
 */

/**
 * @param {CreateSessionOptions} options
 * @returns {Promise<Session>}
 */
async function createSession(options) {
  return create('standard', options)
}

/**
 * @param {CreateMainSessionOptions} options
 * @returns {Promise<MainSession>}
 */
async function createMainSession(options) {
  return create('main', options)
}

/**
 * @param {string} id
 * @param {LoadSessionOptions} options
 * @returns {Promise<Session | null>}
 */
async function loadSession(id, options) {
  return load('standard', id, options)
}

/**
 * @param {string} id
 * @param {LoadMainSessionOptions} options
 * @returns {Promise<MainSession | null>}
 */
async function loadMainSession(id, options) {
  return load('main', id, options)
}

/**
 * @param {Session | MainSession} parent
 * @param {ForkOptions} options
 */
async function forkSession(parent, options) {
  const core = coreOf(parent)
  if (core === undefined) throw check.wrong('parent', 'a session of this package', parent)
  requireNodes(core.storage, 'forkSession()')
  return await forkAs(core, 'forkSession', options)
}

/**
 * @param {MainStorage} storage
 * @param {SessionDigestFilter} [filter]
 * @returns {Promise<SessionDigest[]>}
 */
async function listSessionDigests(storage, filter) {
  check.storage('storage', storage)
  const { status } = check.options('filter', filter)
  if (status !== undefined && status !== 'active' && status !== 'archived') throw check.wrong('filter.status', "'active' or 'archived'", status)
  return await invokeOn(storage, 'listSessionDigests', [{ status }])
}

/**
 * Forks for a tool call: with a topology node where the storage keeps them.
 *
 * @param {Session | MainSession} parent
 * @param {ForkOptions} options
 */
async function forkForTool(parent, options) {
  const core = coreOf(parent)
  if (core === undefined && (!check.isObject(parent) || typeof parent.fork !== 'function')) throw check.wrong('the result of getParent()', 'a session', parent)
  return core !== undefined && typeof core.storage.putNode === 'function' ? forkSession(parent, options) : parent.fork(options)
}

/**
 * @param {'standard' | 'main'} kind
 * @param {unknown} given
 */
async function create(kind, given) {
  const options = check.options('options', given)
  const { id, parentId, label, systemPrompt, tags, metadata } = options
  const core = newCore(kind, options)
  check.optionalString('options.id', id)
  if (parentId !== null) check.optionalString('options.parentId', parentId)
  check.optionalString('options.label', label)
  check.optionalString('options.systemPrompt', systemPrompt)
  check.optionalTags('options.tags', tags)
  check.optionalMetadata('options.metadata', metadata)
  if (parentId !== undefined) requireNodes(core.storage, 'options.parentId')
  const made = { id, parentId, label, systemPrompt, tags, metadata }
  await invokeOn(core.storage, 'create', [kind, made], { made: core.handle })
  return wrap(core)
}

/**
 * @param {'standard' | 'main'} kind
 * @param {string} id
 * @param {unknown} given
 */
async function load(kind, id, given) {
  check.string('id', id)
  const options = check.options('options', given)
  const core = newCore(kind, options)
  check.optionalString('options.systemPrompt', options.systemPrompt)
  const found = await invokeOn(core.storage, 'load', [kind, id, options.systemPrompt ?? null], { made: core.handle })
  return found === null ? null : wrap(core)
}

/**
 * @param {'standard' | 'main'} kind
 * @param {any} options
 */
function newCore(kind, options) {
  const { storage, llm, tools, compressFn } = options
  check.storage('options.storage', storage)
  const bound = { llm, tools, compressFn, ...(kind === 'main' ? { integrateFn: options.integrateFn } : { consolidateFn: options.consolidateFn }) }
  checkBound('options', bound)
  return new SessionCore(kind, { storage, ...bound })
}

/**
 * @param {any} storage
 * @param {string} what
 */
function requireNodes(storage, what) {
  if (typeof storage.putNode !== 'function') throw new TypeError(`${what} needs a storage with putNode(), got one without`)
}

module.exports = { createMainSession, createSession, forkForTool, forkSession, listSessionDigests, loadMainSession, loadSession }

// @ts-check
'use strict'

const { LLMError, NotImplementedError, SessionArchivedError, StorageError, ToolResultsError } = require('./errors.cjs')
const lifecycle = require('./lifecycle.cjs')
const { createAnthropicAdapter, createClaude, createGPT, createOpenAICompatibleAdapter } = require('./llm.cjs')
const { InMemoryStorageAdapter, PostgresStorageAdapter, SqliteStorageAdapter } = require('./storages.cjs')
const { MainSession, Session } = require('./session.cjs')

const { createMainSession, createSession, forkSession, listSessionDigests, loadMainSession, loadSession } = lifecycle

/** @type {typeof import('../../index.js').tool} */
function tool(...args) {
  return require('./tool.cjs').tool(...args)
}

/** @param {() => import('../../index.js').Session | import('../../index.js').MainSession} getParent */
function createSessionTool(getParent) {
  return require('./tool.cjs').createSessionTool(getParent, lifecycle.forkForTool)
}

module.exports = {
  InMemoryStorageAdapter,
  LLMError,
  MainSession,
  NotImplementedError,
  PostgresStorageAdapter,
  Session,
  SessionArchivedError,
  SqliteStorageAdapter,
  StorageError,
  ToolResultsError,
  createAnthropicAdapter,
  createClaude,
  createGPT,
  createMainSession,
  createOpenAICompatibleAdapter,
  createSession,
  createSessionTool,
  forkSession,
  listSessionDigests,
  loadMainSession,
  loadSession,
  tool,
}

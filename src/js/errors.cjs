// @ts-check
'use strict'

/**
 * Makes `name` a property of the class, not of each error, and keeps it out of enumeration.
 *
 * @param {new (...args: any[]) => Error} ErrorClass
 * @param {string} name
 */
function named(ErrorClass, name) {
  Object.defineProperty(ErrorClass.prototype, 'name', { value: name, configurable: true, writable: true })
}

class SessionArchivedError extends Error {
  code = 'session_archived'

  /** @param {string} sessionId */
  constructor(sessionId) {
    super(`Session "${sessionId}" is archived and cannot be modified`)
  }
}

class NotImplementedError extends Error {
  code = 'not_implemented'

  /** @param {string} method */
  constructor(method) {
    super(`${method} is not yet implemented`)
  }
}

class LLMError extends Error {
  /**
   * @param {string} message
   * @param {{ provider?: string, status?: number, code?: string, type?: string, requestId?: string, retryable?: boolean, retryAfterMs?: number, cause?: unknown }} [details]
   */
  constructor(message, details = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.provider = details.provider ?? 'unknown'
    this.code = details.code ?? 'unknown'
    this.retryable = details.retryable ?? false
    if (details.status !== undefined) this.status = details.status
    if (details.type !== undefined) this.type = details.type
    if (details.requestId !== undefined) this.requestId = details.requestId
    if (details.retryAfterMs !== undefined) this.retryAfterMs = details.retryAfterMs
  }
}

class ToolResultsError extends Error {
  code = 'tool_results'
}

class StorageError extends Error {
  /**
   * @param {string} message
   * @param {{ code?: string, cause?: unknown }} [details]
   */
  constructor(message, details = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = details.code ?? 'failed'
  }
}

named(SessionArchivedError, 'SessionArchivedError')
named(NotImplementedError, 'NotImplementedError')
named(LLMError, 'LLMError')
named(ToolResultsError, 'ToolResultsError')
named(StorageError, 'StorageError')

/**
 * Builds an error of `ErrorClass` with `message` as it is.
 *
 * @param {new (text: string) => Error} ErrorClass
 * @param {string} message
 */
function withMessage(ErrorClass, message) {
  const error = new ErrorClass('')
  error.message = message
  Error.captureStackTrace(error, errorFromFault)
  return error
}

/**
 * What native code tells of an error that the caller is to get.
 *
 * @typedef {{ kind: 'archived' | 'notImplemented' | 'toolResults' | 'type' | 'plain' | 'internal', message: string, cause?: undefined }} PlainFault
 * @typedef {{ kind: 'llm', message: string, provider: string, code: string, status?: number, type?: string, requestId?: string,
 *   retryable: boolean, retryAfterMs?: number, cause?: string }} LLMFault
 * @typedef {{ kind: 'storage', message: string, code: string, cause?: string }} StorageFault
 * @typedef {PlainFault | LLMFault | StorageFault} Fault
 */

/**
 * The error for a fault that native code reported (see `src/binding/fault.rs`).
 *
 * @param {Fault} fault
 */
function errorFromFault(fault) {
  const cause = fault.cause === undefined ? undefined : new Error(fault.cause)
  switch (fault.kind) {
    case 'archived':
      return withMessage(SessionArchivedError, fault.message)
    case 'notImplemented':
      return withMessage(NotImplementedError, fault.message)
    case 'llm':
      return new LLMError(fault.message, { ...fault, cause })
    case 'toolResults':
      return new ToolResultsError(fault.message)
    case 'storage':
      return new StorageError(fault.message, { code: fault.code, cause })
    case 'type':
      return new TypeError(fault.message)
    case 'internal':
      return Object.assign(new Error(fault.message), { code: 'internal' })
    default:
      return new Error(fault.message)
  }
}

module.exports = { SessionArchivedError, NotImplementedError, LLMError, ToolResultsError, StorageError, errorFromFault }

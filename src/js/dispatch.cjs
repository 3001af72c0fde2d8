// @ts-check
'use strict'

/** What a message of the dispatcher asks for; the numbers are those of `Ask` in `src/binding/bridge.rs`. */
const Ask = Object.freeze({
  Done: 0,
  Failed: 1,
  Pieces: 2,
  State: 3,
  Storage: 4,
  Apply: 5,
  Load: 6,
  Contents: 7,
  Generate: 8,
  Compress: 9,
  Function: 10,
  Resume: 11,
})

/**
 * The running operations and the function that brings them their messages.
 *
 * This stands in a file of its own because native code holds `dispatch` for good: whatever its closure can
 * reach is never collected, and here that is only the operations that run.
 */
function createDispatcher() {
  /** @type {Map<number, { receive(question: number, ask: number, payload: string | null): void }>} */
  const operations = new Map()
  /** @type {(operation: number, question: number, ask: number, payload: string | null) => void} */
  const dispatch = (operation, question, ask, payload) => operations.get(operation)?.receive(question, ask, payload)
  return { operations, dispatch }
}

module.exports = { Ask, createDispatcher }

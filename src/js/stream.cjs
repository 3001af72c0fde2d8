// @ts-check
'use strict'

/**
 * What `stream()` returns: the pieces of the answer, and the whole of it.
 *
 * The turn runs whether or not anybody looks. An error reaches who holds `result`; who only iterates gets it there.
 */
class TurnStream {
  #pieces
  #result
  #resultWasRead = false

  /**
   * @param {import('./pieces.cjs').Pieces<string>} pieces
   * @param {Promise<import('../../index.js').SendResult>} result
   */
  constructor(pieces, result) {
    this.#pieces = pieces
    this.#result = result
    result.then(
      () => pieces.end(undefined),
      // Read at the end, not now: the promise may be fetched at any time until then.
      (error) => pieces.end(this.#resultWasRead ? undefined : { error }),
    )
  }

  get result() {
    this.#resultWasRead = true
    return this.#result
  }

  [Symbol.asyncIterator]() {
    return this.#pieces[Symbol.asyncIterator]()
  }
}

module.exports = { TurnStream }

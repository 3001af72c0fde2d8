// @ts-check
'use strict'

/**
 * @template T
 * @typedef {{ resolve(step: IteratorResult<T>): void, reject(error: unknown): void }} Reader
 */

/**
 * The pieces of a stream, on their way from who makes them to who iterates. Each piece is given out once; a
 * second iterator goes on where the first stopped.
 *
 * @template T
 */
class Pieces {
  /** @type {T[]} */ #pending = []
  #next = 0
  /** @type {Reader<T>[]} */ #waiting = []
  #ended = false
  /** @type {{ error: unknown } | undefined} */ #failure
  /** @type {(() => void) | undefined} */ #onLeave

  /** @param {() => void} [onLeave] called when a loop is left early */
  constructor(onLeave) {
    this.#onLeave = onLeave
  }

  /** @param {T} piece */
  push(piece) {
    const waiter = this.#waiting.shift()
    if (waiter === undefined) this.#pending.push(piece)
    else waiter.resolve({ value: piece, done: false })
  }

  /**
   * Nothing more comes. With `failure`, whoever reads past the last piece gets it, once.
   *
   * @param {{ error: unknown } | undefined} failure
   */
  end(failure) {
    this.#ended = true
    this.#failure = failure
    for (const waiter of this.#waiting.splice(0)) this.#finish(waiter)
  }

  /** @param {Reader<T>} reader */
  #finish({ resolve, reject }) {
    const failure = this.#failure
    this.#failure = undefined
    if (failure === undefined) resolve({ value: undefined, done: true })
    else reject(failure.error)
  }

  /** @returns {Promise<IteratorResult<T>>} */
  #step() {
    if (this.#next < this.#pending.length) {
      const value = this.#pending[this.#next++]
      if (this.#next === this.#pending.length) {
        this.#pending = []
        this.#next = 0
      }
      return Promise.resolve({ value, done: false })
    }
    return new Promise((resolve, reject) => {
      if (this.#ended) this.#finish({ resolve, reject })
      else this.#waiting.push({ resolve, reject })
    })
  }

  /** @returns {AsyncIterableIterator<T>} */
  [Symbol.asyncIterator]() {
    let left = false
    /** @type {(value?: unknown) => Promise<IteratorReturnResult<any>>} */
    const leave = async (value) => {
      if (!left && !this.#ended) this.#onLeave?.()
      left = true
      return { value, done: true }
    }
    return {
      next: () => (left ? leave(undefined) : this.#step()),
      return: leave,
      throw: async (error) => {
        await leave(undefined)
        throw error
      },
      [Symbol.asyncIterator]() {
        return this
      },
    }
  }
}

module.exports = { Pieces }

// @ts-check
'use strict'

const { AsyncLocalStorage, AsyncResource } = require('node:async_hooks')
const { Bridge } = require('./addon.cjs')
const { Ask, createDispatcher } = require('./dispatch.cjs')
const { errorFromFault } = require('./errors.cjs')

const { operations, dispatch } = createDispatcher()
/** @type {import('./native.cjs').Bridge | undefined} */
let bridge
let lastNumber = 0

function nextNumber() {
  return ++lastNumber
}

/** Made on first use: loading the package starts nothing. */
function getBridge() {
  bridge ??= new Bridge(dispatch)
  return bridge
}

/**
 * Messages that native code returned instead of sending them: `[operation, question, ask, payload, …]`.
 *
 * @typedef {(number | string | null)[] | null} Said
 * @param {Said | void} said
 */
function deliver(said) {
  if (said === null || said === undefined) return
  for (let at = 0; at < said.length; at += 4) {
    operations.get(Number(said[at]))?.receive(Number(said[at + 1]), Number(said[at + 2]), /** @type {string | null} */ (said[at + 3]))
  }
}

/**
 * Which turns the running code was called from, innermost first.
 *
 * @typedef {{ key: number, open: boolean, outer: TurnScope | undefined }} TurnScope
 * @type {AsyncLocalStorage<TurnScope>}
 */
const turnScopes = new AsyncLocalStorage()

/**
 * Whether the running code was called by a turn of the session `key` that has not ended.
 *
 * @param {number} key
 */
function insideTurnOf(key) {
  for (let scope = turnScopes.getStore(); scope !== undefined; scope = scope.outer) {
    if (scope.open && scope.key === key) return true
  }
  return false
}

/**
 * To be woken takes about 50 µs on an idle machine (Linux, two cores, 2026-11), as long as a storage in a file takes for all that a turn
 * stores. So while its answers come one upon another, the event loop goes round instead of sleeping; everything else has its turn in it.
 */
const ROUNDS_MS = 0.1
/** An answer came quickly, and the next question follows it quickly, within this time. */
const QUICK_MS = 0.25

/** When a storage was last waited for, and when one last answered. */
const waiting = { since: 0, answered: -Infinity, awake: false }

function waitAwake() {
  const now = performance.now()
  const quick = waiting.answered - waiting.since < QUICK_MS && now - waiting.answered < QUICK_MS
  waiting.since = now
  if (quick && !waiting.awake) {
    waiting.awake = true
    setImmediate(goRound)
  }
}

function goRound() {
  waiting.awake = operations.size > 0 && performance.now() - waiting.since < ROUNDS_MS
  if (waiting.awake) setImmediate(goRound)
}

/** The async context of the running code. */
function newContext() {
  return new AsyncResource('StelloSession')
}

/**
 * Something that native code does for a caller who waits. Subclasses answer what it asks on the way.
 *
 * @template T
 */
class Operation {
  number
  /** @type {Promise<T>} */
  promise
  /**
   * What callbacks threw, by the number of the question that they were to answer.
   *
   * @type {Map<number, unknown> | undefined}
   */
  #thrown
  /** Ends it with what a function returns or throws. @type {(outcome: () => T) => void} */ #settle = () => {}
  /** The caller's async context, in which everything of the caller's is called. @type {AsyncResource | undefined} */
  #context
  /** @type {TurnScope | undefined} */ #scope
  /** @type {AbortSignal | undefined} */ #signal
  /** @type {(() => void) | undefined} */ #onAbort
  /** @type {((pieces: any[]) => void) | undefined} */ #onPieces
  /** Whether a storage of native code is all that it can be waiting for. */
  #onStorage = false
  ended = false

  /**
   * @param {(pieces: any[]) => void} [onPieces] takes the pieces of a native stream, several at a time
   * @param {number} [number] by which native code knows it
   */
  constructor(onPieces, number = nextNumber()) {
    this.#onPieces = onPieces
    this.number = number
    this.promise = this.#outcome(
      new Promise((resolve) => {
        this.#settle = resolve
      }),
    )
  }

  /**
   * What an operation fails with is made here, not where native code tells of it: its stack then goes on to whoever waits, line by line.
   *
   * @param {Promise<() => T>} settled
   */
  async #outcome(settled) {
    const outcome = await settled
    return outcome()
  }

  /**
   * Runs `begin(bridge, number)`, which starts the native part and returns what that says at once.
   *
   * @param {(bridge: import('./native.cjs').Bridge, number: number) => Said | void} begin
   * @param {{ signal?: AbortSignal, turnOf?: number, onStorage?: boolean }} [options]
   */
  start(begin, { signal, turnOf, onStorage = false } = {}) {
    const native = getBridge()
    this.#onStorage = onStorage
    let aborted = false
    if (signal !== undefined) {
      this.#signal = signal
      this.#onAbort = () => {
        aborted = true
        native.cancel(this.number)
      }
      // A signal may be anything that looks like one: if it throws, nothing has begun yet.
      signal.addEventListener('abort', this.#onAbort, { once: true })
      aborted ||= signal.aborted
    }
    if (turnOf === undefined) {
      this.#context = newContext()
    } else {
      this.#scope = { key: turnOf, open: true, outer: turnScopes.getStore() }
      this.#context = turnScopes.run(this.#scope, newContext)
    }
    let said
    try {
      said = begin(native, this.number)
    } catch (error) {
      this.#stopListening()
      throw error
    }
    if (operations.size === 0) native.hold()
    operations.set(this.number, this)
    if (aborted) native.cancel(this.number)
    this.#hear(said)
    return this
  }

  /**
   * Takes what native code said at once. Where that is nothing, it waits.
   *
   * @param {Said | void} said
   */
  #hear(said) {
    if (said === null || said === undefined) {
      if (this.#onStorage && !this.ended) waitAwake()
    } else {
      deliver(said)
    }
  }

  #stopListening() {
    if (this.#onAbort === undefined) return
    try {
      this.#signal?.removeEventListener('abort', this.#onAbort)
    } catch {
      // Not every signal can be left; the turn has ended all the same.
    }
  }

  cancel() {
    if (!this.ended) getBridge().cancel(this.number)
  }

  /**
   * @param {number} question
   * @param {number} ask
   * @param {string | null} json `null` where there is nothing to say
   */
  receive(question, ask, json) {
    if (this.#onStorage) waiting.answered = performance.now()
    try {
      this.#take(question, ask, json ?? 'null')
    } catch (error) {
      this.#giveUp(error)
    }
  }

  /**
   * Native code failed while it was told something. Nobody would catch that: it is the operation's error, not the end of the
   * process. The native part is cancelled and still comes to its own end, which gives its place in the queue away.
   *
   * @param {unknown} error
   */
  #giveUp(error) {
    this.#settle(() => {
      throw error
    })
    if (!this.ended) getBridge().cancel(this.number)
  }

  /**
   * @param {number} question
   * @param {number} ask
   * @param {string} payload
   */
  #take(question, ask, payload) {
    switch (ask) {
      case Ask.Done:
        return this.#end(() => this.result(payload))
      case Ask.Failed:
        return this.#end(() => {
          throw this.#error(JSON.parse(payload))
        })
      case Ask.Pieces:
        return this.#takePieces()
      case Ask.Resume:
        return deliver(getBridge().resume(this.number))
      default:
        this.#context?.runInAsyncScope(this.#answer, this, question, ask, payload)
    }
  }

  /** @param {() => T} outcome */
  #end(outcome) {
    this.ended = true
    if (this.#scope !== undefined) this.#scope.open = false
    operations.delete(this.number)
    const native = getBridge()
    if (operations.size === 0) native.release()
    this.#stopListening()
    if (this.#onPieces !== undefined) {
      this.#takePieces()
      native.closeStream(this.number)
    }
    this.onEnd()
    this.#settle(outcome)
  }

  /** @param {import('./errors.cjs').Fault | { kind: 'thrown', call: number } | { kind: 'aborted' }} fault */
  #error(fault) {
    if (fault.kind === 'thrown') return this.#thrown?.get(fault.call)
    if (fault.kind === 'aborted') return abortReason(this.#signal)
    return errorFromFault(fault)
  }

  /**
   * @param {number} question
   * @param {number} ask
   * @param {string} payload
   */
  async #answer(question, ask, payload) {
    const native = getBridge()
    try {
      this.#hear(await this.answer(native, question, ask, payload))
    } catch (error) {
      // After the end nobody asks any more, and what an abandoned callback throws concerns nobody.
      if (this.ended) return
      this.#thrown ??= new Map()
      this.#thrown.set(question, error)
      try {
        deliver(native.fail(question))
      } catch (failure) {
        this.#giveUp(failure)
      }
    }
  }

  /** Lets go of what only its way to the end needed. */
  onEnd() {}

  /**
   * Answers a question, or throws what the caller is to get. Returns what native code said to the answer.
   *
   * @param {import('./native.cjs').Bridge} _bridge
   * @param {number} _question
   * @param {number} ask
   * @param {string} _payload
   * @returns {Said | void | Promise<Said | void>}
   */
  answer(_bridge, _question, ask, _payload) {
    throw new Error(`no answer to question ${ask}`)
  }

  #takePieces() {
    const pieces = getBridge().take(this.number)
    if (pieces !== null) this.#onPieces?.(JSON.parse(pieces))
  }

  /**
   * What the caller gets.
   *
   * @param {string} payload
   * @returns {T}
   */
  result(payload) {
    return JSON.parse(payload)
  }
}

/** @param {AbortSignal | undefined} signal */
function abortReason(signal) {
  return signal?.reason ?? new DOMException('This operation was aborted', 'AbortError')
}

module.exports = { Operation, abortReason, getBridge, insideTurnOf, nextNumber }

// Objects of the application that misbehave once: every call of a method is counted, and one of them goes wrong.
import { deferred } from '../support/adapters.js'

/** One call of a method of an object in a trap. */
export interface Call {
  method: string
  /** The call was made on what `transaction` gave its function. */
  inTransaction: boolean
  /** Does what the call should do. */
  proceed(): unknown
}

/** What a call does instead of what it should. */
export type Misbehaviour = (call: Call) => unknown

/** Counts calls from `arm()` on; the one with the armed number misbehaves. */
export class Trap {
  #calls = 0
  #at = 0
  #misbehaviour: Misbehaviour | undefined
  /** The call that misbehaved. */
  sprung: Call | undefined
  #onSpring = () => {}

  /** From now on the call number `at`, from 1, misbehaves. */
  arm(at: number, misbehaviour: Misbehaviour) {
    const { promise, resolve } = deferred()
    this.#calls = 0
    this.#at = at
    this.#misbehaviour = misbehaviour
    this.sprung = undefined
    this.#onSpring = resolve
    return promise
  }

  /** From now on all calls do what they should. */
  disarm() {
    this.#misbehaviour = undefined
  }

  /** How many calls there were since `arm()`. */
  get calls() {
    return this.#calls
  }

  readonly #meet = (call: Call) => {
    const misbehaviour = this.#misbehaviour
    this.#calls += 1
    if (misbehaviour === undefined || this.#calls !== this.#at) return call.proceed()
    this.sprung = call
    this.#onSpring()
    return misbehaviour(call)
  }

  /** The object, with this trap before each of its methods. */
  around<T extends object>(target: T, inTransaction = false): T {
    return new Proxy(target, {
      get: (of, name) => {
        const value: unknown = Reflect.get(of, name, of)
        if (typeof value !== 'function' || typeof name !== 'string') return value
        return (...args: unknown[]) => this.#meet({ method: name, inTransaction, proceed: () => Reflect.apply(value, of, this.#inside(name, args)) })
      },
    })
  }

  #inside(method: string, args: unknown[]) {
    const [fn, ...rest] = args
    if (method !== 'transaction' || typeof fn !== 'function') return args
    return [(tx: object) => fn(this.around(tx, true)), ...rest]
  }
}

/** A promise-like object whose `then` may do all that a promise never does. */
function thenable(then: (resolve: (value: unknown) => void, reject: (reason: unknown) => void) => void) {
  // oxlint-disable-next-line unicorn/no-thenable -- the point of it
  return { then }
}

/** What goes wrong, with what the caller must be told in the end: `error`, unless the call did settle well first. */
export interface Fault {
  name: string
  /** Whether the work of the call was done nevertheless. */
  does: 'nothing' | 'its work' | 'its work, and says so'
  misbehave(error: unknown): Misbehaviour
}

const ticks = async (count: number) => {
  for (let n = 0; n < count; n += 1) await new Promise((resolve) => setImmediate(resolve))
}

export const faults: Fault[] = [
  {
    name: 'throws at once',
    does: 'nothing',
    misbehave: (error) => () => {
      throw error
    },
  },
  {
    name: 'rejects',
    does: 'nothing',
    misbehave: (error) => async () => {
      throw error
    },
  },
  {
    name: 'rejects a good while later',
    does: 'nothing',
    misbehave: (error) => async () => {
      await ticks(5)
      throw error
    },
  },
  { name: 'is a thenable that throws', does: 'nothing', misbehave: (error) => () => thenable(() => { throw error }) },
  {
    name: 'settles twice, badly first',
    does: 'nothing',
    misbehave: (error) => () => thenable((resolve, reject) => {
      reject(error)
      resolve('late')
      reject(new Error('later still'))
    }),
  },
  {
    name: 'does its work and rejects',
    does: 'its work',
    misbehave: (error) => async (call) => {
      await call.proceed()
      throw error
    },
  },
  {
    name: 'settles twice, well first, and throws after that',
    does: 'its work, and says so',
    misbehave: (error) => (call) => thenable((resolve, reject) => {
      resolve(call.proceed())
      reject(error)
      resolve('late')
      throw error
    }),
  },
  {
    name: 'answers a good while later',
    does: 'its work, and says so',
    misbehave: () => async (call) => {
      await ticks(5)
      return call.proceed()
    },
  },
]

/** What may be thrown: also what is no error, and nothing at all. */
export const thrown: unknown[] = [new Error('planted'), 'a string', undefined, null, 0, Object.freeze({ code: 'frozen' })]

export { ticks }

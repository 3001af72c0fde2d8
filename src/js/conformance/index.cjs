// @ts-check
'use strict'

/** @import { MainStorage, NativeStorage, SessionStorage } from '../../../index.js' */
/** @import { StorageFeature, storageConformance as Suite } from '../../../conformance.js' */

const sessions = require('./sessions.cjs')
const values = require('./values.cjs')

/** @typedef {{ name: string, run(storage: SessionStorage): Promise<void> }} Case */
/** @typedef {{ name: string, run(storage: MainStorage): Promise<void> }} MainCase */
/** @typedef {{ name: string, run(storage: NativeStorage): Promise<void> }} AdditionCase */
/** @typedef {Record<Exclude<StorageFeature, 'main'>, AdditionCase[]>} Additions */

/** @type {Case[]} */
const required = [...require('./session.cjs'), ...require('./transactions.cjs'), ...values.session, ...sessions.session]

/** @type {Map<string, Array<Case | MainCase | AdditionCase>>} */
const byFeature = new Map([['main', [...require('./main.cjs'), ...values.main, ...sessions.main]], ...Object.entries(require('./additions.cjs'))])

const storageFeatures = Object.freeze([...byFeature.keys()])

/** @type {(makeStorage: () => unknown, options?: { features?: readonly string[], dispose?: (storage: any) => unknown }) => ReturnType<Suite>} */
function storageConformance(makeStorage, options = {}) {
  if (typeof makeStorage !== 'function') throw new TypeError('makeStorage must be a function')
  check(options)
  const cases = [required, ...(options.features ?? []).map(casesOf)].flat()
  return cases.map(({ name, run }) => ({
    name,
    async run() {
      /** @type {any} A storage with the features that its author claims. */
      const storage = await makeStorage()
      if (storage === null || (typeof storage !== 'object' && typeof storage !== 'function')) throw new TypeError(`makeStorage must return a storage, got ${String(storage)}`)
      try {
        await run(storage)
      } finally {
        await options.dispose?.(storage)
      }
    },
  }))
}

/** @param {unknown} given */
function check(given) {
  if (given === null || typeof given !== 'object') throw new TypeError(`options must be an object, got ${String(given)}`)
  const { features, dispose } = /** @type {Record<string, unknown>} */ (given)
  if (features !== undefined && !Array.isArray(features)) throw new TypeError(`options.features must be an array, got ${String(features)}`)
  if (dispose !== undefined && typeof dispose !== 'function') throw new TypeError(`options.dispose must be a function, got ${String(dispose)}`)
}

/** @param {string} feature */
function casesOf(feature) {
  const cases = byFeature.get(feature)
  if (cases === undefined) throw new TypeError(`options.features: expected any of ${storageFeatures.join(', ')}, got ${JSON.stringify(feature)}`)
  return cases
}

module.exports = { storageConformance, storageFeatures }

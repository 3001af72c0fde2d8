/**
 * A suite of checks for storages of your own, for any test runner.
 *
 * @module @stello-ai/session/conformance
 */

import type { MainStorage, SessionStorage } from './index.js'

/**
 * What a storage may have beyond {@link SessionStorage}:
 *
 * - `main`: all of {@link MainStorage}
 * - `isolation`: a transaction is seen by others when it is done, and transactions at once do not interleave
 * - `joining`: calls on the storage itself within a transaction, and transactions within it, belong to it
 * - `copies`: altering what was handed in or out alters nothing that is kept
 * - `forest`: `getNode(id)`, and `getChildren(null)` for the roots
 * - `compressionCache`: `getCompressionCache(id)` and `putCompressionCache(id, cache)`
 * - `last`: `listRecords(id, { last })`
 * - `deleteSession`: `deleteSession(id)`
 * - `close`: `close()`, after which calls reject
 */
export type StorageFeature = 'main' | 'isolation' | 'joining' | 'copies' | 'forest' | 'compressionCache' | 'last' | 'deleteSession' | 'close'

/** All of them; the storages of this package have all. */
export const storageFeatures: readonly StorageFeature[]

/** Options of {@link storageConformance}. */
export interface StorageConformanceOptions<S> {
  /**
   * What to check beyond {@link SessionStorage}.
   *
   * @default []
   */
  features?: readonly StorageFeature[] | undefined
  /** Called with each storage after its check, whether that passed or not. */
  dispose?: ((storage: S) => unknown) | undefined
}

/** One check, for one test of your runner. */
export interface StorageConformanceCase {
  /** Says the behaviour; no two are alike. */
  name: string
  /** Rejects with an `AssertionError`, or with what the storage failed of. */
  run(): Promise<void>
}

/**
 * The checks that a storage must pass. Each makes a storage of its own, which must be empty.
 *
 * @example
 * ```ts
 * import { test } from 'node:test'
 * import { InMemoryStorageAdapter } from '@stello-ai/session'
 * import { storageConformance } from '@stello-ai/session/conformance'
 *
 * const make = () => new InMemoryStorageAdapter() // put your own class here
 * for (const { name, run } of storageConformance(make, { features: ['main'] })) test(name, run)
 * ```
 *
 * @throws TypeError for an unknown feature
 */
export function storageConformance<S extends SessionStorage | MainStorage>(
  makeStorage: () => S | Promise<S>,
  options?: StorageConformanceOptions<S>,
): StorageConformanceCase[]

// Keeps declarations that are not exported out of the module's exports.
export {}

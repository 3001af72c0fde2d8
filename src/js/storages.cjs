// @ts-check
'use strict'

const native = require('./addon.cjs')
const check = require('./check.cjs')
const { errorFromFault } = require('./errors.cjs')
const { NativeStorage } = require('./native-storage.cjs')

/** @import { SqliteStorageOptions } from '../../index.js' */

/**
 * @param {'memory' | 'sqlite' | 'postgres'} kind
 * @param {object} options
 */
function openNative(kind, options) {
  const handle = native.StorageHandle.open(kind, JSON.stringify(options))
  if (typeof handle === 'string') throw errorFromFault(JSON.parse(handle))
  return handle
}

/** Keeps everything in this process's memory, natively; gone with the process. */
class InMemoryStorageAdapter extends NativeStorage {
  constructor() {
    super(openNative('memory', {}))
  }
}

/** Keeps everything in one SQLite file, which is made and migrated on first use. */
class SqliteStorageAdapter extends NativeStorage {
  /** @param {SqliteStorageOptions} options */
  constructor(options) {
    const { path, synchronous, busyTimeoutMs, transactionTimeoutMs } = check.options('options', options)
    check.string('options.path', path)
    if (path === '') throw check.wrong('options.path', "a file's path or ':memory:'", path)
    if (synchronous !== undefined && synchronous !== 'full' && synchronous !== 'normal') {
      throw check.wrong('options.synchronous', "'full' or 'normal'", synchronous)
    }
    check.optionalCount('options.busyTimeoutMs', busyTimeoutMs)
    check.optionalPositive('options.transactionTimeoutMs', transactionTimeoutMs)
    super(openNative('sqlite', { path, synchronous, busyTimeoutMs, transactionTimeoutMs }))
  }
}

/** Keeps everything in PostgreSQL, for many machines on one history; tables are made and migrated on first use. */
class PostgresStorageAdapter extends NativeStorage {
  /** @param {any} options */
  constructor(options) {
    const { connectionString, schema, maxConnections, connectTimeoutMs, statementTimeoutMs, transactionTimeoutMs } = check.options('options', options)
    // Not shown where it is wrong: it may hold a password.
    if (typeof connectionString !== 'string') throw new TypeError(`options.connectionString must be a string, got ${typeof connectionString}`)
    check.optionalString('options.schema', schema)
    check.optionalPositive('options.maxConnections', maxConnections)
    check.optionalPositive('options.connectTimeoutMs', connectTimeoutMs)
    check.optionalPositive('options.statementTimeoutMs', statementTimeoutMs)
    check.optionalPositive('options.transactionTimeoutMs', transactionTimeoutMs)
    super(openNative('postgres', { connectionString, schema, maxConnections, connectTimeoutMs, statementTimeoutMs, transactionTimeoutMs }))
  }
}

module.exports = { InMemoryStorageAdapter, PostgresStorageAdapter, SqliteStorageAdapter }

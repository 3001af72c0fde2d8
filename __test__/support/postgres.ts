import { randomUUID } from 'node:crypto'
import { PostgresStorageAdapter, type PostgresStorageOptions } from '@stello-ai/session'
import { Client } from 'pg'
import { startPostgres } from '../../scripts/postgres.mjs'

/** For vitest, before all tests: a server for those that need one. Its workers inherit the variable. */
export default async function setup() {
  const { url, stop } = await startPostgres()
  process.env.STELLO_TEST_POSTGRES_URL = url
  return stop
}

/** The server of all tests. */
export function postgresUrl() {
  const url = process.env.STELLO_TEST_POSTGRES_URL
  if (url === undefined || url === '') throw new Error('STELLO_TEST_POSTGRES_URL is not set: vitest.config.mts names the set-up that does it')
  return url
}

/** A schema's name that nobody else has. */
export function freshSchema() {
  return `test_${randomUUID().replaceAll('-', '')}`
}

/** A storage in a schema of its own, unless `schema` names one. */
export function postgresStorage(options: Partial<PostgresStorageOptions> = {}) {
  return new PostgresStorageAdapter({ connectionString: postgresUrl(), schema: freshSchema(), maxConnections: 4, ...options })
}

/** Statements as an administrator gives them. */
export async function query<Row = Record<string, unknown>>(sql: string, values?: unknown[], url = postgresUrl()) {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(sql, values)).rows
  } finally {
    await client.end()
  }
}

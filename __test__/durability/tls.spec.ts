// What `sslmode` asks of a PostgreSQL server that speaks TLS.
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PostgresStorageAdapter, createSession } from '@stello-ai/session'
import { afterAll, expect, it } from 'vitest'
import { ownPostgres } from '../../scripts/postgres.mjs'
import { recording } from '../support/adapters.js'
import { freshSchema, query } from '../support/postgres.js'

const certificate = (name: string) => fileURLToPath(new URL(`certificates/${name}`, import.meta.url))

/** A key that only its owner may read, as the server demands; the server does not run as root. */
const folder = mkdtempSync(join(tmpdir(), 'stello-tls-'))
const key = join(folder, 'server.key')
const served = join(folder, 'server.pem')
copyFileSync(certificate('server.key'), key)
copyFileSync(certificate('server.pem'), served)
chmodSync(folder, 0o755)
chmodSync(key, 0o600)
if (process.getuid?.() === 0) {
  const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
  chownSync(key, id('-u'), id('-g'))
}

const server = await ownPostgres(['ssl=on', `ssl_cert_file=${served}`, `ssl_key_file=${key}`])
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true })
})

/** Holds a turn over a connection with these parameters; whether it was encrypted. */
async function encrypted(host: string, parameters: Record<string, string>) {
  const url = new URL(server.url)
  url.hostname = host
  const name = freshSchema()
  for (const [parameter, value] of Object.entries({ ...parameters, application_name: name })) url.searchParams.set(parameter, value)
  const storage = new PostgresStorageAdapter({ connectionString: url.href, schema: name, connectTimeoutMs: 5000 })
  try {
    const session = await createSession({ storage, llm: recording(() => ({ content: 'a' })) })
    await session.send('q')
    expect(await session.messages()).toHaveLength(2)
    const rows = await query<{ ssl: boolean }>('SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = $1', [name], server.url)
    return rows.map(({ ssl }) => ssl)
  } finally {
    await storage.close()
  }
}

const ca = certificate('ca.pem')

it.each<[string, string, Record<string, string>, boolean]>([
  ['no mode', '127.0.0.1', {}, true],
  ['disable', '127.0.0.1', { sslmode: 'disable' }, false],
  ['prefer', '127.0.0.1', { sslmode: 'prefer' }, true],
  ['require', '127.0.0.1', { sslmode: 'require' }, true],
  ['require, with the authority', '127.0.0.1', { sslmode: 'require', sslrootcert: ca }, true],
  ['verify-ca', '127.0.0.1', { sslmode: 'verify-ca', sslrootcert: ca }, true],
  ['verify-full', 'localhost', { sslmode: 'verify-full', sslrootcert: ca }, true],
])('%s at %s holds a turn', async (_, host, parameters, ssl) => {
  const connections = await encrypted(host, parameters)
  expect(connections.length).toBeGreaterThan(0)
  expect(new Set(connections)).toEqual(new Set([ssl]))
})

it.each<[string, string, Record<string, string>, RegExp]>([
  ['verify-full by an address that the certificate does not name', '127.0.0.1', { sslmode: 'verify-full', sslrootcert: ca }, /not valid for name/],
  ['verify-ca with another authority', 'localhost', { sslmode: 'verify-ca', sslrootcert: certificate('other-ca.pem') }, /UnknownIssuer/],
  ['require with another authority', 'localhost', { sslmode: 'require', sslrootcert: certificate('other-ca.pem') }, /UnknownIssuer/],
  ['verify-full with the authorities of the system', 'localhost', { sslmode: 'verify-full' }, /UnknownIssuer/],
  ['a file of authorities that is not there', 'localhost', { sslmode: 'verify-full', sslrootcert: '/nowhere/ca.pem' }, /nowhere/],
])('%s is refused', async (_, host, parameters, why) => {
  const error = await encrypted(host, parameters).then(
    () => undefined,
    (reason: unknown) => reason as Error & { code: string },
  )
  expect(error).toMatchObject({ name: 'StorageError', code: 'unavailable' })
  expect(`${error?.message} ${String(error?.cause)}`).toMatch(why)
  expect(`${error?.message} ${String(error?.cause)}`).not.toContain(new URL(server.url).password)
})

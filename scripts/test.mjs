// All tests: the core's with cargo, then the package's with vitest, both with a real PostgreSQL at hand.
//
//   node scripts/test.mjs [arguments for vitest]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cargoEnvironment } from './cargo.mjs'
import { startPostgres } from './postgres.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')

const postgres = await startPostgres()
const stopped = new Promise((resolve) => process.once('SIGINT', resolve))
try {
  const env = { ...cargoEnvironment(), STELLO_TEST_POSTGRES_URL: postgres.url }
  process.exitCode =
    (await run('cargo', ['test', '--no-default-features', '--features', 'conformance', '--quiet'], env)) || (await run(process.execPath, [vitest, 'run', ...process.argv.slice(2)], env))
} finally {
  await postgres.stop()
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<number>} the exit code
 */
async function run(command, args, env) {
  const child = spawn(command, args, { cwd: root, env, stdio: 'inherit' })
  void stopped.then(() => child.kill('SIGINT'))
  const [code] = await once(child, 'exit')
  return code ?? 1
}

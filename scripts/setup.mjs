// Makes a checkout ready to run: installs the packages where they are missing or out of date, and builds the addon where
// its sources have changed. Runs before the packages are there, so it uses Node alone.
//
//   node scripts/setup.mjs            before the demo, the chat and the tests
//   node scripts/setup.mjs --prepare  as npm's `prepare`: builds only where there is no addon
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { addonExists, addonIsCurrent, buildAddon } from './addon.mjs'
import { cargoEnvironment } from './cargo.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Set for the `npm ci` below, whose `prepare` would otherwise build without telling its progress. */
const WITHIN_SETUP = 'STELLO_SESSION_WITHIN_SETUP'

try {
  if (process.argv.includes('--prepare')) await prepare()
  else await setUp()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

async function prepare() {
  if (process.env[WITHIN_SETUP] === undefined && !addonExists()) await buildAddon()
}

async function setUp() {
  if (Number(process.versions.node.split('.')[0]) < 20) throw new Error(`Node 20 or later is needed, this is ${process.version}.`)
  const current = addonIsCurrent()
  if (!current) cargoEnvironment() // rather before the installation than after it
  if (!packagesAreCurrent()) installPackages()
  if (!current) await buildAddon()
}

/** Whether what is installed is what the lock file says; npm keeps its own copy of it inside `node_modules`. */
function packagesAreCurrent() {
  const installed = readPackages(join('node_modules', '.package-lock.json'))
  const wanted = readPackages('package-lock.json')
  if (installed === undefined || wanted === undefined) return false
  return Object.entries(wanted).every(([path, { version, optional, peer }]) => {
    if (path === '') return true
    const present = installed[path]
    // Packages for other platforms are in the lock file but not installed.
    return present === undefined ? optional === true || peer === true : present.version === version && existsSync(join(root, path))
  })
}

/**
 * @param {string} file
 * @returns {Record<string, { version?: string, optional?: boolean, peer?: boolean }> | undefined}
 */
function readPackages(file) {
  try {
    return JSON.parse(readFileSync(join(root, file), 'utf8')).packages
  } catch {
    return undefined
  }
}

function installPackages() {
  console.log('Installing packages ...')
  const started = Date.now()
  const script = process.env.npm_execpath
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']
  const [command, ...first] = script !== undefined && /\.c?js$/.test(script) ? [process.execPath, script] : ['npm']
  const { status, error } = spawnSync(command, [...first, ...args], {
    cwd: root,
    env: { ...process.env, [WITHIN_SETUP]: '1' },
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: command === 'npm' && process.platform === 'win32',
  })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`npm ci failed with exit code ${status}.`)
  console.log(`Installed in ${Math.round((Date.now() - started) / 1000)} s.`)
}

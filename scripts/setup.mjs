// Makes a checkout ready to run: installs the packages where they are missing or out of date, and builds the addon where
// its sources have changed. Runs before the packages are there, so it uses Node alone.
//
//   node scripts/setup.mjs            before the demo, the chat and the tests
//   node scripts/setup.mjs --prepare  as npm's `prepare`: builds only where there is no addon
import { fileURLToPath } from 'node:url'
import { addonExists, addonIsCurrent, buildAddon } from './addon.mjs'
import { cargoEnvironment } from './cargo.mjs'
import { installPackages, packagesAreCurrent } from './folder.mjs'

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
  if (!packagesAreCurrent(root)) installPackages(root, { ...process.env, [WITHIN_SETUP]: '1' })
  if (!current) await buildAddon()
}

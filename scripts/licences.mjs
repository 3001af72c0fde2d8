// Keeps THIRD-PARTY-LICENSES, which the packages of the platforms hold: the licences of all that is compiled into the addon.
//
//   node scripts/licences.mjs           writes it anew, with cargo-about: minutes
//   node scripts/licences.mjs --check   whether it names the crates that are compiled, in their versions
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cargoEnvironment } from './cargo.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const file = 'THIRD-PARTY-LICENSES'

try {
  if (process.argv.includes('--check')) check()
  else write()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

function write() {
  const tools = join(root, 'target', 'tools')
  const about = join(tools, 'bin', process.platform === 'win32' ? 'cargo-about.exe' : 'cargo-about')
  if (!existsSync(about)) cargo('install', '--quiet', '--locked', '--features', 'cli', '--root', tools, 'cargo-about@^0.9')
  cargo('fetch', '--locked') // of crates that are not there it would miss the texts
  execFileSync(about, ['generate', '--frozen', '--all-features', '--fail', '--output-file', file, 'about.hbs'], { cwd: root, env: cargoEnvironment(), stdio: 'inherit' })
}

function check() {
  const listed = new Set([...readFileSync(join(root, file), 'utf8').matchAll(/^ {2}([\w-]+ \d+\.\d+\.\d+\S*)$/gm)].map(([, crate]) => crate))
  const compiled = compiledCrates()
  const missing = [...compiled].filter((crate) => !listed.has(crate))
  const stale = [...listed].filter((crate) => crate !== undefined && !compiled.has(crate))
  if (missing.length + stale.length > 0) {
    throw new Error(`${file} is out of date: "npm run licences" writes it anew.\nNot in it: ${missing.join(', ') || '-'}\nNo longer compiled: ${stale.join(', ') || '-'}`)
  }
  console.log(`${file} names the ${compiled.size} crates that are compiled into the addon.`)
}

/** On any of the platforms, such as "serde 1.0.229"; without the crate itself. */
function compiledCrates() {
  /** @type {string[]} */
  const targets = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).napi.targets
  const printed = cargo('tree', '--locked', '--edges', 'normal', '--all-features', '--prefix', 'none', '--format', '{p}', ...targets.map((target) => `--target=${target}`))
  const crates = [...printed.matchAll(/^(\S+) v(\S+)/gm)].filter(([, name]) => name !== 'stello-session')
  return new Set(crates.map(([, name, version]) => `${name} ${version}`))
}

/** @param {string[]} args */
function cargo(...args) {
  return execFileSync('cargo', args, { cwd: root, env: cargoEnvironment(), encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
}

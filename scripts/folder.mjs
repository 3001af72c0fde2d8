// Folders with a package.json and a lock file of their own: the repository itself, and those of tools and examples whose
// packages the package does not need. Uses Node alone, because it runs before any package is there.
//
//   node scripts/folder.mjs FOLDER...   installs what the lock files say, where it is missing or out of date
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { runNpm } from './npm.mjs'

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const folder of process.argv.slice(2)) ensurePackages(resolve(folder))
}

/** @param {string} folder */
export function ensurePackages(folder) {
  if (!packagesAreCurrent(folder)) installPackages(folder)
}

/**
 * Whether what is installed is what the lock file says; npm keeps its own copy of it inside `node_modules`.
 *
 * @param {string} folder
 */
export function packagesAreCurrent(folder) {
  const installed = readPackages(join(folder, 'node_modules', '.package-lock.json'))
  const wanted = readPackages(join(folder, 'package-lock.json'))
  if (installed === undefined || wanted === undefined) return false
  return Object.entries(wanted).every(([path, { version, optional, peer }]) => {
    if (!path.startsWith('node_modules/')) return true // the folder itself, and what is linked to it
    const present = installed[path]
    // Packages for other platforms are in the lock file but not installed.
    return present === undefined ? optional === true || peer === true : present.version === version && existsSync(join(folder, path))
  })
}

/**
 * @param {string} file
 * @returns {Record<string, { version?: string, optional?: boolean, peer?: boolean }> | undefined}
 */
function readPackages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages
  } catch {
    return undefined
  }
}

/**
 * @param {string} folder
 * @param {NodeJS.ProcessEnv} [env] in which npm and the scripts of the packages run
 */
export function installPackages(folder, env = process.env) {
  console.log(`Installing packages in ${folder} ...`)
  const started = Date.now()
  runNpm(['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder, env })
  console.log(`Installed in ${Math.round((Date.now() - started) / 1000)} s.`)
}

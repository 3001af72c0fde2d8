// Makes the packages as they are published, from what is in this checkout: the main one, and one for each platform whose
// addon lies in src/js. They are left in dist/, as folders and as tarballs.
//
//   node scripts/package.mjs           for the platform whose addon was built here
//   node scripts/package.mjs --all     for a release: an addon that is missing is an error
//
// GITHUB_REPOSITORY, as GitHub Actions sets it, becomes the address in the packages: provenance asks for it.
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runNpm } from './npm.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

/** What concerns those who install the package. All else in package.json is for those who work on it. */
const PUBLISHED_KEYS = ['name', 'version', 'description', 'keywords', 'license', 'engines', 'type', 'main', 'types', 'exports', 'files', 'peerDependencies', 'peerDependenciesMeta', 'publishConfig']

/**
 * @typedef {object} Package
 * @property {string} name
 * @property {string} folder what is packed
 * @property {string} tarball
 */

/**
 * @param {{ all?: boolean, out?: string }} [options]
 * @returns {Package[]} those of the platforms first: the main one depends on them
 */
export function makePackages({ all = false, out = join(root, 'dist') } = {}) {
  rmSync(out, { recursive: true, force: true })
  const platforms = readdirSync(join(root, 'npm'))
  const built = platforms.filter((platform) => existsSync(join(root, addonOf(platform))))
  const missing = platforms.filter((platform) => !built.includes(platform))
  if (built.length === 0 || (all && missing.length > 0)) throw new Error(`Not in place: ${missing.map(addonOf).join(', ')}`)
  return [...built.map((platform) => makePlatformPackage(platform, out)), makeMainPackage(platforms, out)]
}

/** @param {string} platform */
function addonOf(platform) {
  return `src/js/stello-session.${platform}.node`
}

/**
 * @param {string} platform
 * @param {string} out
 */
function makePlatformPackage(platform, out) {
  const source = join(root, 'npm', platform)
  const manifest = readManifest(source)
  const files = new Map(['README.md'].map((file) => [file, join(source, file)]))
  for (const file of ['LICENSE', 'THIRD-PARTY-LICENSES']) files.set(file, join(root, file))
  files.set(manifest.main, join(root, addonOf(platform)))
  return pack(manifest, files, join(out, platform), out)
}

/**
 * @param {string[]} platforms
 * @param {string} out
 */
function makeMainPackage(platforms, out) {
  const whole = readManifest(root)
  const manifest = Object.fromEntries(PUBLISHED_KEYS.filter((key) => key in whole).map((key) => [key, whole[key]]))
  manifest.files = whole.files.filter((/** @type {string} */ pattern) => !pattern.endsWith('.node'))
  manifest.optionalDependencies = Object.fromEntries(platforms.map((platform) => [`${whole.name}-${platform}`, whole.version]))
  const [{ files }] = JSON.parse(runNpm(['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=error'], { cwd: root }))
  const paths = files.map((/** @type {{ path: string }} */ { path }) => path).filter((/** @type {string} */ path) => !path.endsWith('.node'))
  return pack(manifest, new Map(paths.map((/** @type {string} */ path) => [path, join(root, path)])), join(out, 'session'), out)
}

/**
 * @param {Record<string, any>} manifest
 * @param {Map<string, string>} files where each file of the package comes from
 * @param {string} folder
 * @param {string} out
 * @returns {Package}
 */
function pack(manifest, files, folder, out) {
  for (const [path, source] of files) {
    const target = join(folder, path)
    mkdirSync(dirname(target), { recursive: true })
    copyFileSync(source, target)
  }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ ...manifest, ...address() }, null, 2)}\n`)
  const [{ filename }] = JSON.parse(runNpm(['pack', '--json', '--ignore-scripts', '--loglevel=error', '--pack-destination', out], { cwd: folder }))
  return { name: manifest.name, folder, tarball: join(out, filename) }
}

function address() {
  const { GITHUB_REPOSITORY: repository, GITHUB_SERVER_URL: server = 'https://github.com' } = process.env
  if (repository === undefined || repository === '') return {}
  const url = `${server}/${repository}`
  return { repository: { type: 'git', url: `git+${url}.git` }, bugs: `${url}/issues`, homepage: `${url}#readme` }
}

/**
 * @param {string} folder
 * @returns {Record<string, any>}
 */
function readManifest(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    for (const { tarball } of makePackages({ all: process.argv.includes('--all') })) console.log(tarball)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}

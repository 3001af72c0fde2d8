// Publishes what a tag names: node scripts/publish.mjs v1.2.3. What is published already is left as it is, so that a run
// that broke off may be repeated.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runNpm } from './npm.mjs'
import { makePackages } from './package.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * @param {string} tag
 * @param {string} version
 * @param {Array<{ name: string, tarball: string }>} packages in the order in which they are published
 * @param {(args: string[]) => string} npm
 */
export function publish(tag, version, packages, npm) {
  if (tag !== `v${version}`) throw new Error(`The tag is ${tag}, the version in package.json ${version}.`)
  // A version such as 1.0.0-rc.1 must not become what `npm install` brings.
  const channel = version.includes('-') ? 'next' : 'latest'
  for (const { name, tarball } of packages) {
    if (isPublished(`${name}@${version}`, npm)) console.log(`${name}@${version} is published already.`)
    else console.log(npm(['publish', tarball, '--access', 'public', '--provenance', '--tag', channel]))
  }
}

/**
 * @param {string} spec
 * @param {(args: string[]) => string} npm
 */
function isPublished(spec, npm) {
  try {
    return npm(['view', spec, 'version']).trim() !== ''
  } catch {
    return false // npm fails for a package that nobody has published yet; for any other reason, publishing fails too
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    publish(process.argv[2] ?? '', version, makePackages({ all: true }), (args) => runNpm(args, { cwd: root }))
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}

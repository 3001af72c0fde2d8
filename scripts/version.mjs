// Takes the version of package.json over to all that has the same: the packages of the platforms, and the crate.
// npm runs it within `npm version`.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

for (const platform of readdirSync(join(root, 'npm'))) replace(join('npm', platform, 'package.json'), /(?<="version": ")[^"]+/)
replace('Cargo.toml', /(?<=^version = ")[^"]+/m)
for (const lock of ['Cargo.lock', join('fuzz', 'Cargo.lock')]) replace(lock, /(?<=^name = "stello-session"\nversion = ")[^"]+/m)

/**
 * @param {string} file
 * @param {RegExp} place
 */
function replace(file, place) {
  const text = readFileSync(join(root, file), 'utf8')
  if (!place.test(text)) throw new Error(`${file} has no version`)
  writeFileSync(join(root, file), text.replace(place, version))
}

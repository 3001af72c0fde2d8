// The API reference in docs/api, made of the declarations.
//
//   node scripts/docs.mjs           writes it
//   node scripts/docs.mjs --check   only says whether it is current
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensurePackages } from './folder.mjs'

const tool = fileURLToPath(new URL('reference', import.meta.url))
const reference = fileURLToPath(new URL('../docs/api', import.meta.url))

ensurePackages(tool)
if (process.argv.includes('--check')) check()
else generate(reference)

/** @param {string} folder */
function generate(folder) {
  const { status } = spawnSync(process.execPath, [join('node_modules', 'typedoc', 'bin', 'typedoc'), '--out', folder], { cwd: tool, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

function check() {
  const folder = mkdtempSync(join(tmpdir(), 'stello-reference-'))
  try {
    generate(folder)
    const [now, then] = [pages(folder), pages(reference)]
    const stale = [...new Set([...now.keys(), ...then.keys()])].filter((name) => now.get(name) !== then.get(name))
    if (stale.length === 0) return
    console.error(`docs/api is not current, run \`npm run docs\`:\n${stale.map((name) => `  ${name}`).join('\n')}`)
    process.exitCode = 1
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** @param {string} folder */
function pages(folder) {
  const names = readdirSync(folder, { encoding: 'utf8', recursive: true }).filter((name) => name.endsWith('.md'))
  return new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
}

// @ts-check
// All measurements, in one table: npm run bench -- [--write] [--quick] [--only TEXT]
//
// --write puts table and chart into docs/performance.md and docs/performance.svg, --quick takes a look with a few
// turns of each, --only measures the groups whose name has TEXT in it.
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { groups, rows } from './cases.mjs'
import { chart } from './chart.mjs'
import { median } from './measured.mjs'
import { judge, page, table } from './report.mjs'

/** @import { Figure } from './cases.mjs' */

const root = fileURLToPath(new URL('..', import.meta.url))
const { values: options } = parseArgs({
  options: {
    write: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
  },
})

/** The figures of each variant of each group, one for each repetition. @type {Map<string, number[]>} */
const figures = new Map()

try {
  if (process.platform !== 'linux') throw new Error('CPU time is read from the accounting of Linux: there is no other way here')
  const addon = releasedAddon()
  installClients()
  const began = performance.now()
  const size = options.quick ? { scale: 0.02, repetitions: 1 } : { scale: 1, repetitions: 3 }
  const measured = groups(size).filter(({ name }) => name.includes(options.only))
  for (const [index, group] of measured.entries()) {
    console.error(`${index + 1} of ${measured.length} (${Math.round((performance.now() - began) / 1000)} s): ${group.name}`)
    for (let n = 0; n < group.repetitions; n++) {
      for (const [variant, command] of Object.entries(group.variants)) {
        for (const [name, figure] of Object.entries(await measure(command))) note([group.name, variant, name], figure)
      }
    }
  }
  for (const ms of figures.get(key(['many chunks', 'native', 'mainMs'])) ?? []) note(['many chunks', 'native', 'chunkUs'], (ms * 1000) / 10_000)
  note(['addon', 'native', 'megabytes'], statSync(addon).size / 1e6)

  const judged = rows.flatMap((row) => judge(row, figureOf) ?? [])
  console.log(table(judged))
  console.error(`${judged.filter(({ met }) => met).length} of ${judged.length} bars met, in ${Math.round((performance.now() - began) / 1000)} s`)
  if (options.write) {
    writeFileSync(join(root, 'docs', 'performance.svg'), chart(figureOf))
    writeFileSync(join(root, 'docs', 'performance.md'), page(judged))
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

/**
 * @param {string[]} command
 * @returns {Promise<Record<string, number>>}
 */
async function measure([script, ...args]) {
  const file = join('bench', String(script))
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', '--max-old-space-size=8192', file, ...args], { cwd: root })
  return JSON.parse(stdout)
}

/** @param {Figure} figure */
function note(figure, /** @type {number} */ value) {
  const known = figures.get(key(figure))
  if (known === undefined) figures.set(key(figure), [value])
  else known.push(value)
}

/** The median of the repetitions. @param {Figure} figure */
function figureOf(figure) {
  const known = figures.get(key(figure))
  return known === undefined ? undefined : median(known)
}

/** @param {Figure} figure */
function key(figure) {
  return figure.join('/')
}

/** @returns {string} the addon that is measured, which must be one that users get */
function releasedAddon() {
  const folder = join(root, 'src', 'js')
  const stamp = readdirSync(folder).find((name) => name.endsWith('.stamp'))
  const built = stamp === undefined ? undefined : JSON.parse(readFileSync(join(folder, stamp), 'utf8'))
  if (built?.profile !== 'release') throw new Error('the addon in src/js is not a release build: npm run build')
  return join(folder, built.file)
}

/** The providers' own clients, which only the yardstick needs. */
function installClients() {
  const bench = join(root, 'bench')
  if (existsSync(join(bench, 'node_modules', 'openai'))) return
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const { status } = spawnSync(npm, ['ci', '--no-audit', '--no-fund'], { cwd: bench, stdio: 'inherit', shell: process.platform === 'win32' })
  if (status !== 0) throw new Error('what the yardstick needs could not be installed: npm ci --prefix bench')
}

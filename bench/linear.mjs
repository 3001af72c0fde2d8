// How the work grows with the input, for shapes of input that would be dear if anything were quadratic: the instructions that
// each takes at two sizes, one ten times the other, as valgrind counts them.
//
//   node bench/linear.mjs [part of a shape's name]
import { execFileSync, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { cargoEnvironment } from '../scripts/cargo.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const SIZES = [20_000, 200_000]

/** Ten times the input may take a little more than ten times the work: hash tables and buffers grow by leaps. */
const MOST = 13

const json = execFileSync('cargo', ['test', '--quiet', '--no-default-features', '--features', 'properties', '--bench', 'linear', '--no-run', '--message-format', 'json'], { cwd: root, env: cargoEnvironment(), encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'inherit'] })
const artifacts = json.split('\n').filter((line) => line.includes('"executable":"')).map((line) => JSON.parse(line))
const program = artifacts.find(({ target }) => target.name === 'linear').executable
const shapes = execFileSync(program, { encoding: 'utf8' }).trim().split('\n').filter((name) => name.includes(process.argv[2] ?? ''))

console.log(`| input | instructions at ${SIZES[0]} | at ${SIZES[1]} | factor |\n| --- | --: | --: | --: |`)
for (const shape of shapes) {
  const nothing = instructions(shape, 0)
  const [small = 0, large = 0] = SIZES.map((size) => instructions(shape, size) - nothing)
  const factor = large / small
  console.log(`| ${shape} | ${millions(small)} | ${millions(large)} | ${factor.toFixed(1)} |`)
  if (factor > MOST) process.exitCode = 1
}

/**
 * @param {string} shape
 * @param {number} size
 */
function instructions(shape, size) {
  const { stderr, status } = spawnSync('valgrind', ['--tool=callgrind', '--callgrind-out-file=/dev/null', program, shape, String(size)], { encoding: 'utf8' })
  const collected = /Collected : (\d+)/.exec(stderr)?.[1]
  if (status !== 0 || collected === undefined) throw new Error(`${shape}: ${stderr}`)
  return Number(collected)
}

/** @param {number} count */
function millions(count) {
  return `${(count / 1e6).toFixed(1)} M`
}

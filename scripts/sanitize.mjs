// valgrind's memcheck over the core's tests and over the addon in Node.js: reads and writes outside of what was allocated, values
// that were never set, and memory that nothing refers to any more, in Rust and in SQLite alike. Needs valgrind; takes a good while.
//
//   node scripts/sanitize.mjs [part of a test's name ...]   with names, only those tests of the core
//
// The targets of scripts/fuzz.mjs run with AddressSanitizer.
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cargoEnvironment } from './cargo.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const MEMCHECK = ['--error-exitcode=9', '--leak-check=full', '--show-leak-kinds=definite', '--num-callers=25', '--quiet']

// Not those that start programs of their own or wait for a clock that valgrind slows down.
const LEFT_OUT = ['processes', 'timeout', 'too_long', 'simulation']

const named = process.argv.slice(2)
testCore()
if (named.length === 0) testAddon()

function testCore() {
  const [program = ''] = build(['test', '--no-default-features', '--lib', '--no-run']).flatMap(({ executable }) => executable ?? [])
  const tests = ['--test-threads=2', ...named, ...LEFT_OUT.flatMap((name) => ['--skip', name])]
  check([...MEMCHECK, '--errors-for-leak-kinds=definite', program, ...tests])
}

/** What Node.js itself loses is not counted. */
function testAddon() {
  const files = build(['build', '--lib']).flatMap(({ filenames }) => filenames)
  const folder = mkdtempSync(join(tmpdir(), 'stello-memcheck-'))
  try {
    const addon = join(folder, 'stello.node')
    copyFileSync(files.find((file) => /libstello_session\.(so|dylib)$/.test(file)) ?? '', addon)
    // The machine code that V8 writes changes under valgrind's eyes.
    check([...MEMCHECK, '--errors-for-leak-kinds=none', '--smc-check=all-non-file', process.execPath, '--single-threaded', join(root, '__test__/programs/every-way.mjs'), addon])
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/**
 * @param {string[]} command
 * @returns {{ executable: string | null, filenames: string[] }[]}
 */
function build(command) {
  const json = execFileSync('cargo', [...command, '--quiet', '--message-format', 'json'], { cwd: root, env: cargoEnvironment(), encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'inherit'] })
  return json.split('\n').filter((line) => line.includes('"compiler-artifact"')).map((line) => JSON.parse(line))
}

/** @param {string[]} command */
function check(command) {
  const { status } = spawnSync('valgrind', command, { cwd: root, env: { ...process.env, PROPTEST_CASES: '2' }, stdio: 'inherit' })
  if (status !== 0) process.exitCode = status ?? 1
}

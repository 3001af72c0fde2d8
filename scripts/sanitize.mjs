// The core's tests under valgrind's memcheck: reads and writes outside of what was allocated, values that were never set, and
// memory that nothing refers to any more, in Rust and in SQLite alike. Needs valgrind; takes a good while.
//
//   node scripts/sanitize.mjs [part of a test's name ...]
//
// The targets of scripts/fuzz.mjs run with AddressSanitizer.
import { execFileSync, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { cargoEnvironment } from './cargo.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

// Not those that start programs of their own or wait for a clock that valgrind slows down.
const LEFT_OUT = ['processes', 'timeout', 'too_long']

const json = execFileSync('cargo', ['test', '--quiet', '--no-default-features', '--lib', '--no-run', '--message-format', 'json'], { cwd: root, env: cargoEnvironment(), encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'inherit'] })
const executables = json.split('\n').filter((line) => line.includes('"executable":"')).map((line) => JSON.parse(line).executable)
const valgrind = ['--error-exitcode=9', '--leak-check=full', '--show-leak-kinds=definite', '--errors-for-leak-kinds=definite', '--num-callers=25', '--quiet']
const tests = ['--test-threads=2', ...process.argv.slice(2), ...LEFT_OUT.flatMap((name) => ['--skip', name])]
const { status } = spawnSync('valgrind', [...valgrind, executables[0], ...tests], { cwd: root, env: { ...process.env, PROPTEST_CASES: '2' }, stdio: 'inherit' })
process.exitCode = status ?? 1

// Runs cargo where it is installed but not in PATH, as after a fresh rustup: node scripts/cargo.mjs ARGUMENTS
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The environment in which `cargo` is found; throws an explanation where there is none. */
export function cargoEnvironment() {
  const bin = join(process.env.CARGO_HOME ?? join(homedir(), '.cargo'), 'bin')
  const name = process.platform === 'win32' ? 'cargo.exe' : 'cargo'
  const folders = (process.env.PATH ?? '').split(delimiter)
  if (folders.some((folder) => folder !== '' && existsSync(join(folder, name)))) return process.env
  if (existsSync(join(bin, name))) return { ...process.env, PATH: [bin, ...folders].join(delimiter) }
  throw new Error(
    `Rust is needed to build the native addon, and cargo is neither in PATH nor in ${bin}.\n` +
      'Install it with rustup (https://rustup.rs), then run the same command again.',
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    const { status, error } = spawnSync('cargo', process.argv.slice(2), { stdio: 'inherit', env: cargoEnvironment() })
    if (error !== undefined) throw error
    process.exitCode = status ?? 1
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}

// Builds the native addon into src/js: node scripts/addon.mjs [--debug] [--target TRIPLE, and other options of `napi build`]
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cargoEnvironment } from './cargo.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = join(root, 'src', 'js')
const stampFile = join(folder, 'stello-session.stamp')

/** How often a build says where it is: on a terminal the line is rewritten, elsewhere a line is added. */
const TERMINAL_MS = 200
const LOG_MS = 5000

/** Whether an addon for this platform lies in place, whatever it was built from. */
export function addonExists() {
  const built = readStamp()
  return (built !== undefined && existsSync(join(folder, built.file))) || addonFiles().length > 0
}

/** Whether the addon in place was built from the sources as they are. */
export function addonIsCurrent() {
  const built = readStamp()
  return built !== undefined && built.sources === hashSources() && existsSync(join(folder, built.file))
}

/**
 * Builds an addon for other machines than this one. It leaves no stamp, which is of the addon in use here.
 *
 * @param {boolean} release
 * @param {string[]} options of `napi build`
 */
async function buildForPlatform(release, options) {
  const started = Date.now()
  await runCargo([...napiCommand(release), ...options], cargoEnvironment())
  console.log(`Built with ${options.join(' ')} in ${seconds(started)} s.`)
}

/** Builds the addon, telling its progress; throws with the compiler's messages where that fails. */
export async function buildAddon({ release = true } = {}) {
  const env = cargoEnvironment()
  const sources = hashSources()
  const before = new Map(addonFiles().map((file) => [file, hashFile(join(folder, file))]))
  const started = Date.now()
  await runCargo(napiCommand(release), env)
  const files = addonFiles()
  const file = files.find((name) => before.get(name) !== hashFile(join(folder, name))) ?? readStamp()?.file ?? files[0]
  if (file === undefined) throw new Error('the build ended well but left no addon in src/js')
  writeFileSync(stampFile, `${JSON.stringify({ sources, file, profile: release ? 'release' : 'debug' })}\n`)
  console.log(`Built src/js/${file} in ${seconds(started)} s.`)
}

/** @param {boolean} release */
function napiCommand(release) {
  const cli = createRequire(join(root, 'package.json')).resolve('@napi-rs/cli/package.json')
  const script = join(dirname(cli), JSON.parse(readFileSync(cli, 'utf8')).bin.napi)
  const command = [script, 'build', '--platform', '--output-dir', 'src/js', '--no-js', '--dts', 'native.d.cts', '--no-const-enum']
  return release ? [...command, '--release'] : command
}

/**
 * @param {string[]} command
 * @param {NodeJS.ProcessEnv} env
 */
async function runCargo(command, env) {
  const child = spawn(process.execPath, command, {
    cwd: root,
    // cargo tells "12/345" only when it is asked to, or on a terminal of its own.
    env: { ...env, CARGO_TERM_PROGRESS_WHEN: 'always', CARGO_TERM_PROGRESS_WIDTH: '80', CARGO_TERM_COLOR: 'never' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const progress = new Progress()
  child.stdout.setEncoding('utf8').on('data', (text) => progress.read(text))
  child.stderr.setEncoding('utf8').on('data', (text) => progress.read(text))
  try {
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`The addon could not be built:\n${progress.messages()}`)
  } finally {
    progress.end()
  }
}

class Progress {
  #terminal = process.stdout.isTTY === true
  #started = Date.now()
  #count = 'starting'
  #partial = ''
  /** @type {string[]} */
  #said = []
  #shown = ''
  #timer = setInterval(() => this.#show(), this.#terminal ? TERMINAL_MS : LOG_MS)

  /** @param {string} text */
  read(text) {
    const lines = (this.#partial + text).split(/[\r\n]/)
    this.#partial = lines.pop() ?? ''
    for (const line of lines) this.#readLine(line)
  }

  /** @param {string} line */
  #readLine(line) {
    const count = /^\s*Building \[.*\] (\d+)\/(\d+)/.exec(line)
    if (count !== null) this.#count = `${count[1]} of ${count[2]}`
    else if (line.trim() !== '' && !/^\s*(Compiling|Downloading|Downloaded|Building) /.test(line)) this.#said.push(line)
  }

  #show() {
    const line = `Compiling the native addon: ${this.#count} (${seconds(this.#started)} s)`
    if (line === this.#shown) return
    this.#shown = line
    process.stdout.write(this.#terminal ? `\r${line}\u001B[K` : `${line}\n`)
  }

  messages() {
    return [...this.#said, this.#partial].slice(-100).join('\n')
  }

  end() {
    clearInterval(this.#timer)
    if (this.#terminal && this.#shown !== '') process.stdout.write('\r\u001B[K')
  }
}

/** Contents, not times: a checkout that changes nothing builds nothing. */
function hashSources() {
  const hash = createHash('sha256')
  const rust = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(rs|sql)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
  const others = ['Cargo.toml', 'Cargo.lock', 'build.rs', 'rust-toolchain.toml', join('.cargo', 'config.toml')]
  for (const file of [...rust, ...others.map((name) => join(root, name))].toSorted()) {
    if (existsSync(file)) hash.update(`${relative(root, file).replaceAll(sep, '/')}\n`).update(readFileSync(file))
  }
  return hash.update(`${process.platform} ${process.arch}`).digest('hex')
}

/** @param {string} file */
function hashFile(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}

function addonFiles() {
  const start = `stello-session.${process.platform}-${process.arch}`
  const files = existsSync(folder) ? readdirSync(folder) : []
  return files.filter((name) => name.startsWith(start) && name.endsWith('.node'))
}

/** @returns {{ sources: string, file: string } | undefined} */
function readStamp() {
  try {
    const stamp = JSON.parse(readFileSync(stampFile, 'utf8'))
    return typeof stamp.file === 'string' ? stamp : undefined
  } catch {
    return undefined
  }
}

/** @param {number} since */
function seconds(since) {
  return Math.round((Date.now() - since) / 1000)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    const options = process.argv.slice(2).filter((option) => option !== '--debug')
    const release = !process.argv.includes('--debug')
    await (options.length > 0 ? buildForPlatform(release, options) : buildAddon({ release }))
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}

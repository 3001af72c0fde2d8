// What the package says where it finds no addon that fits.
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

let folder: string
let own: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'stello-loading-')))
  own = join(folder, 'node_modules', '@stello-ai', 'session')
  mkdirSync(own, { recursive: true })
  for (const path of ['package.json', join('src', 'js')]) {
    cpSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), join(own, path), { recursive: true, filter: (file) => !file.endsWith('.node') })
  }
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

interface Failure {
  message: string
  code: string
  cause?: string
}

/** How loading the package fails in a process of its own, which may first pretend to be another. */
async function failure(pretence = ''): Promise<Failure> {
  const program = `${pretence}
try { require('@stello-ai/session') } catch ({ message, code, cause }) { console.log(JSON.stringify({ message, code, cause: cause?.message })) }`
  const { stdout } = await promisify(execFile)(process.execPath, ['--eval', program], { cwd: folder })
  return JSON.parse(stdout) as Failure
}

const pretend = (platform: string, arch: string) => `Object.defineProperties(process, { platform: { value: '${platform}' }, arch: { value: '${arch}' } })`

/** As Node.js would be linked on such a system. */
function linkedWith(loader: string, there = [loader]) {
  const file = join(folder, 'node')
  writeFileSync(file, `\u007FELF\u0000${loader}\u0000`)
  return `process.execPath = ${JSON.stringify(file)}
    const fs = require('node:fs'), { existsSync } = fs
    fs.existsSync = (path) => (path.startsWith('/lib/ld-') ? ${JSON.stringify(there)}.includes(path) : existsSync(path))`
}

describe('without an addon, the error', () => {
  it('names the platform, each place that was looked at and why it had none, and both ways out', async () => {
    const { message, code, cause } = await failure(`${pretend('linux', 'arm64')}\n${linkedWith('/lib/ld-linux-aarch64.so.1')}`)
    expect(code).toBe('addon_not_loaded')
    expect(message).toContain(`could not be loaded on linux-arm64-gnu with Node.js ${process.version}`)
    expect(message).toContain(`${join(own, 'src', 'js', 'stello-session.linux-arm64-gnu.node')}: no such file`)
    expect(message).toContain('@stello-ai/session-linux-arm64-gnu: Cannot find module')
    expect(message).toContain('--omit=optional')
    expect(message).toContain('npm run build')
    expect(cause).toContain('session-linux-arm64-gnu')
  })

  it.each([
    ['darwin', 'arm64', 'darwin-arm64'],
    ['darwin', 'x64', 'darwin-x64'],
    ['win32', 'x64', 'win32-x64-msvc'],
  ])('on %s %s names the package %s', async (platform, arch, name) => {
    expect((await failure(pretend(platform, arch))).message).toContain(`@stello-ai/session-${name}: Cannot find module`)
  })

  it.each([
    ['/lib/ld-musl-x86_64.so.1', 'musl', ['/lib/ld-musl-x86_64.so.1']],
    ['/lib64/ld-linux-x86-64.so.2', 'gnu', []],
    ['/lib64/ld-linux-x86-64.so.2', 'gnu', ['/lib/ld-musl-x86_64.so.1']],
    ['/nix/store/glibc-2.40/lib/ld-linux-x86-64.so.2', 'gnu', []],
  ])('for a Node.js that runs on %s names the package of %s, with %j on the machine', async (loader, libc, there) => {
    const { message } = await failure(`${pretend('linux', 'x64')}\n${linkedWith(loader, there)}`)
    expect(message).toContain(`@stello-ai/session-linux-x64-${libc}: Cannot find module`)
  })

  it('says where there is no package for the platform', async () => {
    const { message } = await failure(pretend('freebsd', 'x64'))
    expect(message).toContain('@stello-ai/session-freebsd-x64: this platform has no prebuilt package')
    expect(message).toContain('npm run build')
  })
})

describe('with an addon that does not load, the error', () => {
  const name = '@stello-ai/session-linux-x64-gnu'
  const pretence = () => `${pretend('linux', 'x64')}\n${linkedWith('/lib64/ld-linux-x86-64.so.2')}`

  it('has the message of the system, of the file that was built and of the package', async () => {
    const modules = join(folder, 'node_modules', ...name.split('/'))
    const file = 'stello-session.linux-x64-gnu.node'
    mkdirSync(modules)
    writeFileSync(join(modules, 'package.json'), JSON.stringify({ name, main: file }))
    for (const place of [modules, join(own, 'src', 'js')]) writeFileSync(join(place, file), 'not an addon')
    const { message, cause } = await failure(pretence())
    const told = message.split('\n').filter((line) => line.startsWith('  '))
    expect(told).toHaveLength(2)
    expect(told[0]).toMatch(/^ {2}\S+stello-session\.linux-x64-gnu\.node: \S/)
    expect(told[1]).toMatch(/^ {2}@stello-ai\/session-linux-x64-gnu: \S/)
    for (const line of told) expect(line).not.toMatch(/no such file$|Cannot find/)
    expect(cause).toMatch(/\S/)
    expect(told[0]).toContain(cause)
  })

  it('has the message of a package that is there without its file', async () => {
    const modules = join(folder, 'node_modules', ...name.split('/'))
    mkdirSync(modules)
    writeFileSync(join(modules, 'package.json'), JSON.stringify({ name, main: 'gone.node' }))
    expect((await failure(pretence())).message).toMatch(/session-linux-x64-gnu: .*gone\.node/)
  })
})

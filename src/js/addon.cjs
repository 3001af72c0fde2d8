// @ts-check
'use strict'

// Loads the native addon: one that was built in place, else that of this platform's package.

const { closeSync, existsSync, openSync, readSync } = require('node:fs')
const { createRequire } = require('node:module')
const { join } = require('node:path')

/** Where the file of Node.js itself names its dynamic loader: right behind the ELF headers. */
const ELF_HEAD_BYTES = 4096

/** As napi names it, in the file and in the package. */
const platform = `${process.platform}-${process.arch}${abi()}`

/** @type {Array<{ what: string, why: unknown }>} */
const tried = []

module.exports = load()

function load() {
  const addon = fromFile(join(__dirname, `stello-session.${platform}.node`)) ?? fromPackage()
  if (addon === undefined) throw notLoaded()
  return addon
}

/**
 * @param {string} file
 * @returns {typeof import('./native.cjs') | undefined}
 */
function fromFile(file) {
  try {
    // Not `require`: bundlers would ask for the file, which only a checkout has.
    if (existsSync(file)) return createRequire(__filename)(file)
    tried.push({ what: file, why: 'no such file' })
  } catch (error) {
    tried.push({ what: file, why: error })
  }
  return undefined
}

/** Every name in full and within a `try`: bundlers and file tracers follow those, and put up with the ones that are not installed. */
function fromPackage() {
  try {
    switch (platform) {
      case 'darwin-arm64':
        return require('@stello-ai/session-darwin-arm64')
      case 'darwin-x64':
        return require('@stello-ai/session-darwin-x64')
      case 'linux-arm64-gnu':
        return require('@stello-ai/session-linux-arm64-gnu')
      case 'linux-arm64-musl':
        return require('@stello-ai/session-linux-arm64-musl')
      case 'linux-x64-gnu':
        return require('@stello-ai/session-linux-x64-gnu')
      case 'linux-x64-musl':
        return require('@stello-ai/session-linux-x64-musl')
      case 'win32-x64-msvc':
        return require('@stello-ai/session-win32-x64-msvc')
    }
    tried.push({ what: `@stello-ai/session-${platform}`, why: 'this platform has no prebuilt package' })
  } catch (error) {
    tried.push({ what: `@stello-ai/session-${platform}`, why: error })
  }
  return undefined
}

function abi() {
  switch (process.platform) {
    case 'win32':
      return '-msvc'
    case 'linux':
      return (isMusl() ? '-musl' : '-gnu') + (process.arch === 'arm' ? 'eabihf' : '')
    default:
      return ''
  }
}

/**
 * What Node.js itself is linked with is what an addon must be; `process.report` tells it too, but takes milliseconds. Where musl has no
 * loader in its usual place there is no need to look.
 */
function isMusl() {
  if (!existsSync(`/lib/ld-musl-${process.arch === 'x64' ? 'x86_64' : 'aarch64'}.so.1`)) return false
  const head = Buffer.alloc(ELF_HEAD_BYTES)
  try {
    const file = openSync(process.execPath, 'r')
    try {
      readSync(file, head)
    } finally {
      closeSync(file)
    }
  } catch {
    return false // what cannot be read, under a permission model, is most often glibc's
  }
  return head.includes('/ld-musl-')
}

function notLoaded() {
  // Behind its first line, the message of a missing module lists who asked for it.
  const failures = tried.map(({ what, why }) => `  ${what}: ${why instanceof Error ? why.message.split('\n', 1)[0] : why}`)
  const lines = [
    `the native addon of @stello-ai/session could not be loaded on ${platform} with Node.js ${process.version}. Tried:`,
    ...failures,
    'Installing again on this very platform, without --omit=optional and without a lock file or node_modules from another one, brings the prebuilt package where there is one.',
    'To build it from source, with Rust (https://rustup.rs): "npm ci && npm run build" in a checkout of the repository of @stello-ai/session, then "npm install PATH_OF_THE_CHECKOUT" here.',
  ]
  const cause = tried.map(({ why }) => why).find((why) => why instanceof Error)
  return Object.assign(new Error(lines.join('\n'), cause === undefined ? {} : { cause }), { code: 'addon_not_loaded' })
}

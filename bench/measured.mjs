// @ts-check
// What measurements share: the package that is measured, its sessions, and the clocks.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * A module with the exports of the package that a measurement uses: the package itself, or the yardstick.
 *
 * @typedef {Pick<typeof import('@stello-ai/session'), 'createAnthropicAdapter' | 'createOpenAICompatibleAdapter' | 'createSession' | 'InMemoryStorageAdapter'>} Measured
 */

/** @returns {Promise<Measured>} */
export async function load(/** @type {string} */ path) {
  const module = await import(pathToFileURL(resolve(path)).href)
  return module.createSession === undefined ? module.default : module
}

/** The path of what is measured is the first argument; the rest are options. */
export function measuredPath(/** @type {string[]} */ positionals) {
  const [path] = positionals
  if (path === undefined) throw new Error('say which module to measure')
  return path
}

/**
 * CPU time of the main thread in milliseconds, as the scheduler accounts for it, in nanoseconds and by thread. NaN outside of Linux.
 */
export function mainThreadMs() {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
  } catch {
    return NaN
  }
}

/** CPU time of all threads of the process, in milliseconds. */
export function processMs() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Message `n` of a history: about 400 characters. */
export function message(/** @type {number} */ n) {
  const content = `${n} ${'lorem ipsum dolor sit amet '.repeat(15)}`
  return { role: n % 2 === 0 ? /** @type {const} */ ('user') : /** @type {const} */ ('assistant'), content, timestamp: new Date().toISOString() }
}

/** @param {number[]} numbers */
export function median(numbers) {
  return quantile(numbers, 0.5)
}

/** @param {number[]} numbers */
export function quantile(numbers, /** @type {number} */ share) {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN
}

/** Prints the figures of a measurement as one line of JSON. */
export function tell(/** @type {Record<string, number>} */ figures) {
  console.log(JSON.stringify(figures, (_, value) => (typeof value === 'number' ? Number(value.toPrecision(5)) : value)))
}

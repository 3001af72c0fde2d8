// @ts-check
// What an application waits for before its first answer: node bench/startup.mjs MODULE [--runs N]. Prints one line of JSON.
//
// Every figure is the median over processes of its own: the `require` of the package, of an empty module, and
// the first turn with a native adapter, which starts threads, reads certificates and opens a connection.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { measuredPath, median, tell } from './measured.mjs'
import { startProvider } from './mock-provider.mjs'

const { values, positionals } = parseArgs({ allowPositionals: true, options: { runs: { type: 'string', default: '15' } } })
const measured = resolve(measuredPath(positionals))
const folder = mkdtempSync(join(tmpdir(), 'stello-bench-'))
process.on('exit', () => rmSync(folder, { recursive: true }))
const empty = join(folder, 'empty.cjs')
writeFileSync(empty, 'module.exports = {}\n')

const provider = await startProvider()
// So that it is not the server that is slow at first.
for (let n = 0; n < 50; n++) await (await fetch(`${provider.origin}/v1/chat/completions`, { method: 'POST', body: '{}' })).arrayBuffer()

const loading = (/** @type {string} */ path) => `const began = performance.now()
require(${JSON.stringify(path)})
console.log(performance.now() - began)`
const calling = `const { createOpenAICompatibleAdapter, createSession, InMemoryStorageAdapter } = require(${JSON.stringify(measured)})
const llm = createOpenAICompatibleAdapter({ apiKey: 'key', model: 'm', maxContextTokens: 1e9, baseURL: ${JSON.stringify(`${provider.origin}/v1`)} })
createSession({ storage: new InMemoryStorageAdapter(), llm }).then(async (session) => {
  const began = performance.now()
  await session.send('hello there')
  console.log(performance.now() - began)
})`

/** @type {number[]} */ const requireMs = []
/** @type {number[]} */ const emptyMs = []
/** @type {number[]} */ const firstCallMs = []
for (let run = 0; run < Number(values.runs); run++) {
  emptyMs.push(await ask(loading(empty)))
  requireMs.push(await ask(loading(measured)))
  firstCallMs.push(await ask(calling))
}
tell({ requireMs: median(requireMs), emptyMs: median(emptyMs), addedMs: median(requireMs) - median(emptyMs), firstCallMs: median(firstCallMs) })
provider.stop()

/** @param {string} program which prints a number */
async function ask(program) {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=commonjs', '--eval', program])
  return Number(stdout)
}

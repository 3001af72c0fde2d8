// Keeps the walls of the crate and the package: who may name whom, and which dependency may be named where.
// Prints every violation and exits with 1 if there is any.
import { readFileSync, readdirSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The words that every part of the core shares. They know one another only. */
const VOCABULARY = ['text', 'message', 'meta', 'error', 'clock', 'trust', 'choices', 'plant']

/** For each part, the others that it may name, besides itself and the vocabulary. */
const MAY_NAME = {
  ...Object.fromEntries(VOCABULARY.map((part) => [part, []])),
  context: [],
  llm: [],
  storage: [],
  session: ['context', 'llm', 'storage'],
  binding: ['session', 'context', 'llm', 'storage'],
}

/** For each dependency, the folders or files that may name it. */
const RUST_DEPENDENCIES = {
  napi: ['src/binding/', 'src/lib.rs'],
  napi_derive: ['src/binding/', 'src/lib.rs'],
  napi_sys: ['src/binding/'],
  reqwest: ['src/llm/http/'],
  http_body: ['src/llm/http/'],
  rustls: ['src/trust.rs', 'src/llm/http/', 'src/llm/tests/', 'src/storage/postgres/'], // the tests are the server of a TLS connection
  rusqlite: ['src/storage/sqlite/'],
  rusqlite_migration: ['src/storage/sqlite/'],
  tokio_postgres: ['src/storage/postgres/'],
  tokio_postgres_rustls: ['src/storage/postgres/'],
  deadpool_postgres: ['src/storage/postgres/'],
  bb8: ['src/storage/postgres/'],
  bb8_postgres: ['src/storage/postgres/'],
}

const JS_DEPENDENCIES = {
  zod: ['src/js/tool.cjs'],
  'zod-to-json-schema': ['src/js/tool.cjs'],
}

/** Names that say nothing of what is inside. */
const NO_NAMES = /^(utils?|helpers?|common|managers?)$/

/** Comments and literals of Rust: what looks like code in them is none. */
const RUST_ASIDE = /\/\*[^]*?\*\/|\/\/[^\n]*|\br(#*)"[^]*?"\1|"(?:\\[^]|[^"\\])*"|'(?:\\[^\n]+?|[^'\\\n])'/g

/** Comments of JavaScript, and the strings that may hold what looks like one. */
const JS_ASIDE = /\/\*[^]*?\*\/|\/\/[^\n]*|"(?:\\[^]|[^"\\\n])*"|'(?:\\[^]|[^'\\\n])*'/g

/** @type {Map<string, string[]>} */
const layers = new Map(Object.entries(MAY_NAME))

/** The parts that are there: a name at the root of the crate that is none of them is an item. */
const present = new Set(readdirSync(join(root, 'src')).filter((name) => name !== 'js' && name !== 'lib.rs').map((name) => name.replace(/\.rs$/, '')))

/** @type {string[]} */
const violations = []
for (const file of sources('src')) {
  const names = file.split('/').map((name) => name.replace(/\.[^.]+$/, ''))
  const idle = names.find((name) => NO_NAMES.test(name))
  if (idle !== undefined) violations.push(`${file}: '${idle}' does not say what is inside`)
  if (file.endsWith('.rs')) checkRust(file)
  else if (/\.[cm]?js$/.test(file)) checkJs(file)
}
for (const violation of violations) console.error(violation)
if (violations.length > 0) process.exitCode = 1
else console.log('The layers hold.')

/** @param {string} file */
function checkRust(file) {
  const code = readFileSync(join(root, file), 'utf8').replaceAll(RUST_ASIDE, blank)
  const module = modulePath(file)
  const [part] = module
  for (const { path, line } of paths(code)) {
    const target = resolve(path, module)
    // lib.rs only declares the parts.
    if (target !== undefined && part !== undefined) checkPart(file, line, part, target)
    const [first = ''] = path
    const allowed = new Map(Object.entries(RUST_DEPENDENCIES)).get(first)
    if (allowed !== undefined && !isWithin(file, allowed)) violations.push(`${file}:${line}: ${first} may be named only in ${allowed.join(', ')}`)
  }
}

/**
 * `part` names `target`.
 *
 * @param {string} file
 * @param {number} line
 * @param {string} part
 * @param {string} target
 */
function checkPart(file, line, part, target) {
  if (target === part || !present.has(target)) return
  const may = layers.get(part)
  if (may === undefined) violations.push(`${file}:${line}: the part '${part}' has no place among the layers`)
  else if (!VOCABULARY.includes(target) && !may.includes(target)) violations.push(`${file}:${line}: ${part} must not know ${target}`)
}

/** @param {string} file */
function checkJs(file) {
  const text = readFileSync(join(root, file), 'utf8')
  const code = text.replaceAll(JS_ASIDE, (aside) => (/^\/[/*]/.test(aside) ? blank(aside) : aside))
  for (const match of code.matchAll(/(?:\brequire\(|\bimport\(|\bfrom\s+|\bimport\s+)(['"])([^'"\n]+)\1/g)) {
    const id = match[2] ?? ''
    const line = lineOf(code, match.index)
    const name = id.startsWith('@') ? id.split('/').slice(0, 2).join('/') : (id.split('/')[0] ?? '')
    const allowed = new Map(Object.entries(JS_DEPENDENCIES)).get(name)
    if (allowed !== undefined && !isWithin(file, allowed)) violations.push(`${file}:${line}: ${name} may be named only in ${allowed.join(', ')}`)
    else if (allowed === undefined && !/^(node:|\.{1,2}\/|@stello-ai\/session)/.test(id)) {
      violations.push(`${file}:${line}: the package has no dependency '${id}'`)
    }
  }
}

/**
 * Every path in the code, `use` trees unfolded, by its segments.
 *
 * @param {string} code
 */
function* paths(code) {
  for (const match of code.matchAll(/\buse\s+([^;]+);/g)) {
    for (const path of unfold(match[1] ?? '')) yield { path, line: lineOf(code, match.index) }
  }
  const rest = code.replaceAll(/\buse\s+[^;]+;/g, blank)
  for (const match of rest.matchAll(/(?<![\w:])(?:::)?((?:r#)?[a-z_]\w*(?:\s*::\s*\w+)+)/g)) {
    yield { path: (match[1] ?? '').split(/\s*::\s*/), line: lineOf(rest, match.index) }
  }
  for (const match of rest.matchAll(/#!?\[\s*(napi)\b/g)) yield { path: [match[1] ?? ''], line: lineOf(rest, match.index) }
}

/**
 * @param {string} tree such as `crate::{text::{Json, Text}, message::Message as Msg}`
 * @returns {string[][]}
 */
function unfold(tree) {
  const text = tree.trim().replace(/^::/, '')
  const open = text.indexOf('{')
  if (open < 0) return [text.replace(/\s+as\s+\w+$/, '').split(/\s*::\s*/)]
  const start = text.slice(0, open).split(/\s*::\s*/).filter((name) => name !== '').map((name) => name.trim())
  return splitTop(text.slice(open + 1, text.lastIndexOf('}'))).flatMap((part) => unfold(part).map((path) => start.concat(path)))
}

/** @param {string} list */
function splitTop(list) {
  const parts = ['']
  let depth = 0
  for (const char of list) {
    if (char === '{') depth += 1
    if (char === '}') depth -= 1
    if (char === ',' && depth === 0) parts.push('')
    else parts.push(`${parts.pop()}${char}`)
  }
  return parts.filter((part) => part.trim() !== '')
}

/**
 * The part of the crate that a path leads to; `undefined` for another crate or a name in scope.
 *
 * @param {string[]} path
 * @param {string[]} module
 */
function resolve(path, module) {
  const [first = '', second] = path
  if (first === 'crate' || first === 'stello_session') return second !== undefined && /^[a-z]/.test(second) ? second : undefined
  if (first !== 'super') return undefined
  const ups = path.findIndex((name) => name !== 'super')
  const up = ups < 0 ? path.length : ups
  const base = module.slice(0, Math.max(0, module.length - up))
  const full = [...base, ...path.slice(up)]
  return full[0] !== undefined && /^[a-z]/.test(full[0]) ? full[0] : undefined
}

/**
 * `src/llm/http/sse.rs` is `llm::http::sse`, `src/llm/mod.rs` is `llm`. Inline modules such as `mod tests` are one
 * deeper than this says, so that their `super` seems to lead one too far up: to the parent, which errs on no wall.
 *
 * @param {string} file
 */
function modulePath(file) {
  return file
    .replace(/^src\//, '')
    .replace(/\.rs$/, '')
    .split('/')
    .filter((name) => name !== 'mod' && name !== 'lib')
}

/** @param {string} folder */
function sources(folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
    .toSorted()
}

/**
 * @param {string} file
 * @param {string[]} places
 */
function isWithin(file, places) {
  return places.some((place) => (place.endsWith('/') ? file.startsWith(place) || file === `${place.slice(0, -1)}.rs` : file === place))
}

/** @param {string} text */
function blank(text) {
  return text.replaceAll(/[^\n]/g, ' ')
}

/**
 * @param {string} code
 * @param {number} index
 */
function lineOf(code, index) {
  return code.slice(0, index).split('\n').length
}

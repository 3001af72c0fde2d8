// The documentation holds: its code compiles and runs, its commands exist, its links lead somewhere.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startEchoModel } from './support/echo-model.js'
import { programs, readPage, type Page } from './support/markdown.js'
import { freshSchema, postgresUrl, query } from './support/postgres.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<'scripts' | 'peerDependencies', Record<string, string>> & { name: string }
const paths = [...readdirSync(root), ...readdirSync(join(root, 'docs'), { encoding: 'utf8', recursive: true }).map((name) => `docs/${name.replaceAll('\\', '/')}`)]
  .filter((path) => path.endsWith('.md'))
  .toSorted()
const pages = new Map<string, Page>(paths.map((path) => [path, readPage(readFileSync(join(root, path), 'utf8'))]))
/** Made of the declarations, by `npm run docs`. */
const isGenerated = (path: string) => path.startsWith('docs/api/')
const written = paths.filter((path) => !isGenerated(path))
/** The examples in the declarations, as pages of which nothing but the code is left. */
const declarations = ['index.d.ts', 'conformance.d.ts']
for (const path of declarations) {
  const comments = readFileSync(join(root, path), 'utf8').split('\n').map((line) => /^ \* ?(.*)$/.exec(line)?.[1] ?? '')
  pages.set(path, readPage(comments.join('\n')))
}
const code = [...written, ...declarations].flatMap((path) => programs(page(path)).map((program) => ({ ...program, path, name: `${path}:${program.line}` })))

it('is there in English and in Chinese', () => {
  expect(paths).toEqual(expect.arrayContaining(['README.md', 'README.zh-CN.md', 'docs/storages.md', 'docs/errors.md']))
})

it('has code in known languages only', () => {
  const known = new Set(['ts', 'sh', 'json', 'text'])
  const others = written.flatMap((path) => page(path).blocks.filter(({ language }) => !known.has(language)).map(({ line }) => `${path}:${line}`))
  expect(others).toEqual([])
})

describe('the code', () => {
  it('compiles against the declarations', () => {
    const sources = new Map(code.map(({ path, line, text }) => [join(root, `${path}.${line}.ts`), text]))
    const { options: strict } = ts.parseJsonConfigFileContent(ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile).config, ts.sys, root)
    const options = { ...strict, noUnusedLocals: false, noUnusedParameters: false }
    const host = ts.createCompilerHost(options)
    const { fileExists, readFile, getSourceFile } = host
    host.fileExists = (file) => sources.has(file) || fileExists(file)
    host.readFile = (file) => sources.get(file) ?? readFile(file)
    host.getSourceFile = (file, ...rest) => {
      const text = sources.get(file)
      return text === undefined ? getSourceFile(file, ...rest) : ts.createSourceFile(file, text, ts.ScriptTarget.ES2023)
    }
    const program = ts.createProgram([...sources.keys()], options, host)
    expect(ts.getPreEmitDiagnostics(program).map(told)).toEqual([])
  })

  let folder: string
  let model: Awaited<ReturnType<typeof startEchoModel>>
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'stello-docs-'))
    mkdirSync(join(folder, 'node_modules', '@stello-ai'), { recursive: true })
    symlinkSync(root, join(folder, 'node_modules', manifest.name), 'junction')
    symlinkSync(join(root, 'node_modules', 'zod'), join(folder, 'node_modules', 'zod'), 'junction')
    model = await startEchoModel()
  })
  afterAll(async () => {
    await model.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  it.each(code.filter(({ runnable }) => runnable !== ''))('of $name runs', async ({ path, line, runnable, output }) => {
    const cwd = mkdtempSync(join(folder, 'run-'))
    const file = join(cwd, `${path.replaceAll('/', '-')}.${line}.mjs`)
    writeFileSync(file, ts.transpile(runnable, { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext }))
    const env = { ...process.env, ...model.env, ...(runnable.includes('DATABASE_URL') && { DATABASE_URL: await newDatabase() }) }
    const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd, env, timeout: 20_000 })
    expect(stdout).toBe(output ?? stdout)
  })
})

it.each(blocksOf('json'))('the JSON of %s can be read', (_, text) => {
  expect(() => JSON.parse(text)).not.toThrow()
})

it.each(blocksOf('sh'))('the commands of %s exist', (_, text) => {
  const commands = text.split('\n').map((line) => line.replace(/\s*#.*$/, '').replace(/^(\w+=\S+ )+/, ''))
  expect(commands.filter((command) => command !== '' && !exists(command.split(/\s+/)))).toEqual([])
})

it.each(paths)('the links of %s lead somewhere', (path) => {
  const links = page(path).links.filter((link) => !/^(https?|mailto):/.test(link))
  expect(links.filter((link) => !leadsSomewhere(path, link))).toEqual([])
})

it.each(written)('the files that %s names are there', (path) => {
  const files = page(path).spans.filter((span) => /^(src|scripts|examples|docs|__test__|tests|bench)\/[\w./-]+$/.test(span) && !span.includes('NAME'))
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([])
})

/** A database in which nothing is yet; it goes with the server. */
async function newDatabase() {
  const url = new URL(postgresUrl())
  url.pathname = freshSchema()
  await query(`CREATE DATABASE ${url.pathname.slice(1)}`)
  return url.href
}

function leadsSomewhere(from: string, link: string) {
  const [file = '', anchor] = link.split('#')
  const target = file === '' ? from : join(dirname(from), file).replaceAll('\\', '/')
  if (!existsSync(join(root, target))) return false
  return anchor === undefined || page(target).headings.some((heading) => heading.anchor === decodeURIComponent(anchor))
}

it('moves conversations as the example does', () => {
  const move = /async function copySessions\(.*\n([^]*?\n\})/
  const [, example] = move.exec(readFileSync(join(root, 'examples/move-storage.mjs'), 'utf8')) ?? []
  const [, readme] = move.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? []
  expect(example).toContain('appendRecord')
  expect(readme).toBe(example)
})

it('says the same in both languages', () => {
  const outline = (path: string) => page(path).headings.map(({ level }) => level)
  const codeOf = (path: string) => page(path).blocks.map(({ language, marks, code: text }) => [language, marks, language === 'text' ? '' : skeleton(text)])
  expect(outline('README.zh-CN.md')).toEqual(outline('README.md'))
  expect(codeOf('README.zh-CN.md')).toEqual(codeOf('README.md'))
})

/** Code without its words: comments and strings. */
function skeleton(text: string) {
  return text.replaceAll(/\/\/.*|#.*|'[^'\n]*'|`[^`]*`/g, '').replaceAll(/[\t ]+$/gm, '')
}

function page(path: string): Page {
  return pages.get(path) ?? readPage(readFileSync(join(root, path), 'utf8'))
}

function blocksOf(language: string): Array<[name: string, code: string]> {
  return [...pages].flatMap(([path, { blocks }]) =>
    blocks.filter((block) => block.language === language).map((block): [string, string] => [`${path}:${block.line}`, block.code]),
  )
}

function exists([command, ...args]: string[]): boolean {
  const [first = '', second = ''] = args
  switch (command) {
    case 'npm':
      if (first === 'run') return second in manifest.scripts
      if (first === 'install') return args.slice(1).every((name) => [manifest.name, ...Object.keys(manifest.peerDependencies)].includes(name.replace(/(?<=.)@.*$/, '')))
      return ['test', 'ci', 'pack'].includes(first)
    case 'node':
      return existsSync(join(root, first))
    case 'npx':
      return existsSync(join(root, 'node_modules', '.bin', first))
    case 'cargo':
      return ['test', 'fmt', 'clippy'].includes(first)
    case 'git':
      return ['clone'].includes(first)
    case 'cd':
      return true
    default:
      return existsSync(join(root, command ?? ''))
  }
}

function told({ file, start, messageText }: ts.Diagnostic) {
  const text = ts.flattenDiagnosticMessageText(messageText, '\n')
  if (file === undefined || start === undefined) return text
  const { line } = file.getLineAndCharacterOfPosition(start)
  return `${file.fileName.slice(root.length).replace(/\.\d+\.ts$/, '')}:${line + 1}: ${text}`
}

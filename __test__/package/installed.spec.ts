// The package as people get it: packed, installed into an empty folder, and used there in every way that applications have.
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ensurePackages } from '../../scripts/folder.mjs'
import { startEchoModel } from '../support/echo-model.js'
import { expected } from './app/converse.cjs'
import { installPackages } from './install.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const tools = fileURLToPath(new URL('tools', import.meta.url))
ensurePackages(tools)
const fromRoot = createRequire(import.meta.url)
const fromTools = createRequire(join(tools, 'package.json'))

/** The versions of Node.js that the tools bring are published for Linux with glibc on x64 alone. */
const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
const hasMore = process.platform === 'linux' && process.arch === 'x64' && header.glibcVersionRuntime !== undefined
const nodes = [process.execPath, ...(hasMore ? ['node-22', 'node-24'].map((name) => join(tools, 'node_modules', name, 'bin', 'node')) : [])]

let installed: ReturnType<typeof installPackages>
let model: Awaited<ReturnType<typeof startEchoModel>>
beforeAll(async () => {
  installed = installPackages()
  model = await startEchoModel()
}, 120_000)
afterAll(async () => {
  await model.stop()
  rmSync(installed.folder, { recursive: true, force: true })
})

/** What the TypeScript application prints. */
const typed = { content: 'You said: hello', streamed: 'You said: are you there?', finishReason: 'stop', refused: 'closed', suite: 'function' }

/** What a program prints, run by a version of Node.js in a folder. */
async function run(node: string, cwd: string, ...args: string[]) {
  const env = { ...process.env, ...model.env, NODE_OPTIONS: '', NODE_ENV: 'test', VITEST: undefined }
  const { stdout, stderr } = await promisify(execFile)(node, args, { cwd, env, timeout: 110_000 })
  return stdout + stderr
}

it('is installed as a main package and that of the platform, without anything else', () => {
  const modules = join(installed.app, 'node_modules')
  const names = readdirSync(modules).flatMap((name) => (name.startsWith('@') ? readdirSync(join(modules, name)).map((inner) => `${name}/${inner}`) : [name]))
  expect(names.filter((name) => !name.startsWith('.'))).toEqual(installed.packages.map(({ name }) => name).toSorted())
})

describe.each(nodes)('with %s', (node) => {
  it.each(['require.cjs', 'import.mjs'])('%s holds a conversation', async (program) => {
    expect(JSON.parse(await run(node, installed.app, program))).toEqual(expected)
  })

  it('worker threads hold conversations at once', async () => {
    expect(JSON.parse(await run(node, installed.app, 'workers.mjs'))).toEqual([expected, expected, expected, expected])
  })
})

describe('a TypeScript application', () => {
  const { ESNext, Node16, Preserve } = ts.ModuleKind
  const resolution = ts.ModuleResolutionKind
  it.each([
    ['a bundler, as ES module', 'module', { module: ESNext, moduleResolution: resolution.Bundler }],
    ['a bundler, as CommonJS', 'commonjs', { module: Preserve, moduleResolution: resolution.Bundler }],
    ['node16, as ES module', 'module', { module: Node16, moduleResolution: resolution.Node16 }],
    ['node16, as CommonJS', 'commonjs', { module: Node16, moduleResolution: resolution.Node16 }],
  ])('for %s compiles and runs', { timeout: 120_000 }, async (name, type, options) => {
    const folder = join(installed.app, name.replaceAll(/\W+/g, '-'))
    mkdirSync(folder)
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type }))
    cpSync(join(installed.app, 'typed.ts'), join(folder, 'typed.ts'))
    const program = ts.createProgram([join(folder, 'typed.ts')], {
      ...options,
      target: ts.ScriptTarget.ES2022,
      lib: ['lib.es2022.d.ts'],
      typeRoots: [join(root, 'node_modules', '@types')],
      types: ['node'],
      strict: true,
    })
    const { diagnostics } = program.emit()
    expect([...ts.getPreEmitDiagnostics(program), ...diagnostics].map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([])
    // What is left as `import` in CommonJS is for a bundler to change.
    if (options.module === Preserve && type === 'commonjs') await esbuild.build({ entryPoints: [join(folder, 'typed.js')], outfile: join(folder, 'typed.js'), allowOverwrite: true, format: 'cjs' })
    expect(JSON.parse(await run(process.execPath, folder, 'typed.js'))).toEqual(typed)
  })
})

describe('under a test runner', () => {
  beforeAll(() => symlinkSync(join(root, 'node_modules', 'vitest'), join(installed.app, 'node_modules', 'vitest'), 'junction'))
  afterAll(() => rmSync(join(installed.app, 'node_modules', 'vitest')))

  const vitest = join(dirname(fromRoot.resolve('vitest/package.json')), 'vitest.mjs')
  it.each(['forks', 'threads', 'vmThreads'])('vitest with its pool "%s", it holds a conversation', { timeout: 120_000 }, async (pool) => {
    expect(await run(process.execPath, installed.app, vitest, 'run', '--no-color', `--pool=${pool}`, 'package.test.mjs')).toMatch(/Tests\s+2 passed/)
  })

  const jest = join(dirname(fromRoot.resolve('jest/package.json')), 'bin', 'jest.js')
  it('jest, it holds a conversation', { timeout: 120_000 }, async () => {
    expect(await run(process.execPath, installed.app, jest, '--rootDir', installed.app, '--testMatch', '**/package.test.cjs')).toMatch(/Tests:\s+2 passed/)
  })
})

describe('in a bundle', () => {
  const addons = /^@stello-ai\/session-/

  /** A folder that holds nothing but the platform's package. */
  function emptyFolder(name: string) {
    const folder = join(installed.folder, name)
    for (const { name: addon } of installed.packages.filter((one) => addons.test(one.name))) {
      cpSync(join(installed.app, 'node_modules', addon), join(folder, 'node_modules', addon), { recursive: true })
    }
    return folder
  }

  it.each(['require.cjs', 'import.mjs'])('of esbuild that leaves the addon out, %s holds a conversation', async (program) => {
    const folder = emptyFolder(`esbuild-${program}`)
    const { warnings } = await esbuild.build({
      absWorkingDir: installed.app,
      entryPoints: [program],
      outfile: join(folder, 'bundle.cjs'),
      bundle: true,
      platform: 'node',
      external: ['@stello-ai/session-*'],
      logLevel: 'silent',
    })
    expect(warnings).toEqual([])
    expect(JSON.parse(await run(process.execPath, folder, 'bundle.cjs'))).toEqual(expected)
  })

  it('of esbuild that puts the addon beside it as a file, it holds a conversation with nothing else there', async () => {
    const folder = join(installed.folder, 'copied')
    const { warnings } = await esbuild.build({
      absWorkingDir: installed.app,
      entryPoints: ['require.cjs'],
      outfile: join(folder, 'bundle.cjs'),
      bundle: true,
      platform: 'node',
      loader: { '.node': 'copy' },
      logLevel: 'silent',
    })
    expect(warnings).toEqual([])
    expect(JSON.parse(await run(process.execPath, folder, 'bundle.cjs'))).toEqual(expected)
  })

  it('of esbuild as an ES module, with the whole package left out of it, it holds a conversation', async () => {
    const { warnings } = await esbuild.build({
      absWorkingDir: installed.app,
      entryPoints: ['typed.ts'],
      outfile: join(installed.app, 'bundle.mjs'),
      bundle: true,
      platform: 'node',
      format: 'esm',
      external: ['@stello-ai/session'],
      logLevel: 'silent',
    })
    expect(warnings).toEqual([])
    expect(JSON.parse(await run(process.execPath, installed.app, 'bundle.mjs'))).toEqual(typed)
  })

  it.each(['require.cjs', 'import.mjs'])('of webpack that leaves the addon out, %s holds a conversation', { timeout: 120_000 }, async (program) => {
    const folder = emptyFolder(`webpack-${program}`)
    const external = ({ request }: { request: string }, done: (error: null, result?: string) => void) =>
      addons.test(request) ? done(null, `commonjs ${request}`) : done(null)
    const { errors, warnings } = await webpack({
      context: installed.app,
      entry: `./${program}`,
      target: 'node20',
      mode: 'production',
      output: { path: folder, filename: 'bundle.cjs' },
      externals: [external],
    })
    expect(errors).toEqual([])
    // This application has no tools, and no zod.
    expect(warnings.map(({ message }) => message).filter((message) => !message.includes("Can't resolve 'zod"))).toEqual([])
    expect(JSON.parse(await run(process.execPath, folder, 'bundle.cjs'))).toEqual(expected)
  })
})

/** In a function, so that the types are there before the tools are. */
const esbuild = {
  build: (options: object) => (fromTools('esbuild') as { build(given: object): Promise<{ warnings: object[] }> }).build(options),
}

type Told = Record<'errors' | 'warnings', Array<{ message: string }>>

async function webpack(options: object) {
  const compile = fromTools('webpack') as (given: object, done: (error: Error | null, stats?: { toJson(): Told }) => void) => void
  return new Promise<Told>((resolve, reject) => {
    compile(options, (error, stats) => (stats === undefined ? reject(error) : resolve(stats.toJson())))
  })
}

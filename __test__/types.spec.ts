// The applications under types/ and the examples compile unchanged against the package as an application sees it: in a folder of its own,
// with its own zod or none, under both module resolutions, as ES module and as CommonJS, declarations checked.
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
let folder: string

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'stello-types-')))
})
afterAll(() => rm(folder, { recursive: true }))

const esm = { type: 'module' }
const cjs = { type: 'commonjs' }
const bundler = { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler }
const node16 = { module: ts.ModuleKind.Node16, moduleResolution: ts.ModuleResolutionKind.Node16 }
const strictest = { exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noPropertyAccessFromIndexSignature: false }

const applications = ['__test__/types/documented.ts', '__test__/types/orchestrated.ts', 'examples/first-generation.ts']
const applicationsWithZod = ['__test__/types/tools.ts', 'examples/second-generation.ts']

describe.each([
  ['zod 4', 'zod'],
  ['zod 3', 'zod3'],
  ['no zod', undefined],
])('with %s', (_, zod) => {
  it.each([
    ['a bundler', esm, bundler],
    ['node16, ES module', esm, node16],
    ['node16, CommonJS', cjs, node16],
    ['node16, ES module, at its strictest', esm, { ...node16, ...strictest }],
  ])('an application compiles for %s', { timeout: 120_000 }, async (__, manifest, options) => {
    const app = await mkdtemp(join(folder, 'app-'))
    const modules = join(app, 'node_modules')
    const self = join(modules, '@stello-ai', 'session')
    await mkdir(join(modules, '@types'), { recursive: true })
    await Promise.all([
      ...['package.json', 'index.d.ts', 'index.d.mts'].map((file) => cp(join(root, file), join(self, file))),
      ...[...applications, ...(zod === undefined ? [] : applicationsWithZod)].map((file) => cp(join(root, file), join(app, basename(file)))),
      symlink(join(root, 'node_modules', '@types', 'node'), join(modules, '@types', 'node'), 'junction'),
      ...(zod === undefined ? [] : [symlink(join(root, 'node_modules', zod), join(modules, 'zod'), 'junction')]),
      writeFile(join(app, 'package.json'), JSON.stringify(manifest)),
    ])
    expect(compile(app, options)).toEqual([])
  })
})

/** What is wrong in the application and in the package's declarations; those of others are not checked. */
function compile(app: string, options: ts.CompilerOptions): string[] {
  const sources = ts.sys.readDirectory(app, ['.ts'], ['node_modules'])
  const program = ts.createProgram(sources, {
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2022.d.ts'],
    types: ['node'],
    typeRoots: [join(app, 'node_modules', '@types')],
    strict: true,
    noEmit: true,
    ...options,
  })
  const own = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(app.replaceAll('\\', '/')) && !fileName.includes('/@types/'))
  expect(own.map(({ fileName }) => fileName).join()).toContain('index.d.ts')
  const found = [
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...own.flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]),
  ]
  return found.map(({ file, start = 0, messageText }) => {
    const place = file === undefined ? '' : `${file.fileName.slice(app.length)}:${file.getLineAndCharacterOfPosition(start).line + 1}: `
    return place + ts.flattenDiagnosticMessageText(messageText, '\n')
  })
}

describe('the declarations', () => {
  it('export no type that the type tests do not hold', async () => {
    const [declared, tested] = await Promise.all(['index.d.ts', '__test__/types.test-d.ts'].map((file) => readFile(join(root, file), 'utf8')))
    const names = [...(declared ?? '').matchAll(/^export (?:declare )?(?:abstract )?(?:interface|type|class|function|const) (\w+)/gm)].map(([, name]) => name)
    expect(names.length).toBeGreaterThan(70)
    expect(names.filter((name) => !new RegExp(`\\b(types|api)\\.${name}\\b`).test(tested ?? ''))).toEqual([])
  })
})

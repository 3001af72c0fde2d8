// The applications under types/ compile unchanged against the package as an application sees it: in a folder of its own,
// with its own zod or none, under both module resolutions, as ES module and as CommonJS, declarations checked.
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stello-types-'))
})
afterAll(() => rm(folder, { recursive: true }))

const esm = { type: 'module' }
const cjs = { type: 'commonjs' }
const bundler = { module: 'esnext', moduleResolution: 'bundler' }
const node16 = { module: 'node16', moduleResolution: 'node16' }
const strictest = { exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noPropertyAccessFromIndexSignature: false }

describe.each([
  ['zod 4', 'zod'],
  ['zod 3', 'zod3'],
  ['no zod', undefined],
])('with %s', (_, zod) => {
  it.concurrent.each([
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
      ...['documented.ts', 'orchestrated.ts', ...(zod === undefined ? [] : ['tools.ts'])].map((file) => cp(join(root, '__test__', 'types', file), join(app, file))),
      symlink(join(root, 'node_modules', '@types', 'node'), join(modules, '@types', 'node'), 'junction'),
      ...(zod === undefined ? [] : [symlink(join(root, 'node_modules', zod), join(modules, 'zod'), 'junction')]),
      writeFile(join(app, 'package.json'), JSON.stringify(manifest)),
      writeFile(
        join(app, 'tsconfig.json'),
        JSON.stringify({ compilerOptions: { target: 'es2022', lib: ['es2022'], types: ['node'], strict: true, skipLibCheck: false, skipDefaultLibCheck: true, noEmit: true, ...options } }),
      ),
    ])
    expect(await compile(app)).toBe('')
  })
})

function compile(app: string): Promise<string> {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  return new Promise((resolve) => {
    execFile(process.execPath, [tsc, '-p', app, '--pretty', 'false'], (_, output) => resolve(output))
  })
}

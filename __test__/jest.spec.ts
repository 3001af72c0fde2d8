import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const bin = join(dirname(createRequire(import.meta.url).resolve('jest/package.json')), 'bin', 'jest.js')

/** Runs the suite in `jest/` to its end; what it printed, and whether it passed. */
function jest(modules: 'cjs' | 'esm') {
  const flags = modules === 'esm' ? ['--experimental-vm-modules'] : []
  const env = { ...process.env, JEST_MODULES: modules, NODE_OPTIONS: '', VITEST: undefined, NODE_ENV: 'test' }
  return new Promise<{ passed: boolean; printed: string }>((resolve) => {
    execFile(process.execPath, [...flags, bin, '--config', '__test__/jest/jest.config.mjs'], { cwd: root, env, timeout: 110_000 }, (error, stdout, stderr) =>
      resolve({ passed: error === null, printed: stderr + stdout }),
    )
  })
}

describe('under jest', () => {
  it.each(['cjs', 'esm'] as const)('the package works as %s: instanceof, errors, spies, both applications', { timeout: 120_000 }, async (modules) => {
    const { passed, printed } = await jest(modules)
    expect(printed).toMatch(/Test Suites: 2 passed, 2 total/)
    expect(passed).toBe(true)
  })
})

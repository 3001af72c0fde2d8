// The package under jest, as applications use it there: CommonJS, or ES modules with --experimental-vm-modules.
import { fileURLToPath } from 'node:url'

const asModules = process.env.JEST_MODULES === 'esm'

export default {
  rootDir: fileURLToPath(new URL('../..', import.meta.url)),
  testMatch: ['<rootDir>/__test__/jest/*.test.ts'],
  modulePathIgnorePatterns: ['<rootDir>/dist/'], // the package once more, as it is published
  testEnvironment: 'node',
  transform: { '\\.ts$': '<rootDir>/__test__/jest/typescript.cjs' },
  extensionsToTreatAsEsm: asModules ? ['.ts'] : [],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': ['$1.js', '$1.ts'] },
}

import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['__test__/**/*.spec.ts'],
    globalSetup: ['__test__/support/postgres.ts'],
    testTimeout: 30_000,
    typecheck: {
      enabled: true,
      include: ['__test__/**/*.test-d.ts'],
      tsconfig: './tsconfig.json',
    },
  },
})

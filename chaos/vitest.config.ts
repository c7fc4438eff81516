import { byLength } from '@holt/testkit'
import { defineConfig } from 'vitest/config'

// biome-ignore lint/style/noDefaultExport: vitest reads the default export.
export default defineConfig({
  root: import.meta.dirname,
  test: {
    name: 'chaos',
    include: ['**/*.test.ts'],
    // The service of the end-to-end tests, with their rig and their leak check.
    globalSetup: ['../packages/testkit/src/print-seed.ts', '../e2e/support/global-setup.ts'],
    setupFiles: ['../e2e/support/leak-check.ts'],
    fileParallelism: false,
    testTimeout: byLength({ short: 180_000, long: 3600_000, soak: 3600_000 }),
    hookTimeout: 180_000,
    teardownTimeout: 120_000,
  },
})

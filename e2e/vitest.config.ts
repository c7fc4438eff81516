import { defineConfig } from 'vitest/config'

// biome-ignore lint/style/noDefaultExport: vitest reads the default export.
export default defineConfig({
  root: import.meta.dirname,
  test: {
    name: 'e2e',
    include: ['**/*.test.ts'],
    globalSetup: ['../packages/testkit/src/print-seed.ts', 'support/global-setup.ts'],
    setupFiles: ['support/leak-check.ts', 'support/report-properties.ts'],
    // One service for all files: what one file leaves behind must not be taken for another's.
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // The first start builds the base template inside the set-up; stopping removes every runtime.
    teardownTimeout: 120_000,
  },
})

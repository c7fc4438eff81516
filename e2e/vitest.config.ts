import { defineConfig } from 'vitest/config'
import { laneCount } from './support/lane.ts'

// biome-ignore lint/style/noDefaultExport: vitest reads the default export.
export default defineConfig({
  root: import.meta.dirname,
  test: {
    name: 'e2e',
    include: ['**/*.test.ts'],
    globalSetup: ['../packages/testkit/src/print-seed.ts', 'support/global-setup.ts'],
    setupFiles: ['support/leak-check.ts', 'support/report-properties.ts'],
    // Each worker has its own service: what one file leaves behind must not be taken for another's.
    maxWorkers: laneCount(),
    testTimeout: 120_000,
    hookTimeout: 180_000,
    // The first start builds the base template inside the set-up; stopping removes every runtime.
    teardownTimeout: 120_000,
  },
})

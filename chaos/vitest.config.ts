import { byLength } from '@holt/testkit'
import { configDefaults, defineConfig } from 'vitest/config'
import { laneCount } from '../e2e/support/lane.ts'

/** The files that measure nothing: two of them may share the processors. */
const crashes = ['damage', 'failpoints', 'full-disk', 'kill-rounds', 'reboot', 'requests-in-two-readings'].map(
  (name) => `${name}.test.ts`,
)

const shared = {
  setupFiles: ['../e2e/support/leak-check.ts'],
  testTimeout: byLength({ short: 180_000, long: 3600_000, soak: 3600_000 }),
  hookTimeout: 180_000,
}

// biome-ignore lint/style/noDefaultExport: vitest reads the default export.
export default defineConfig({
  root: import.meta.dirname,
  test: {
    // The services of the end-to-end tests, with their rig and their leak check.
    globalSetup: ['../packages/testkit/src/print-seed.ts', '../e2e/support/global-setup.ts'],
    teardownTimeout: 120_000,
    projects: [
      {
        test: { ...shared, name: 'crashes', include: crashes, maxWorkers: laneCount(), sequence: { groupOrder: 1 } },
      },
      {
        test: {
          ...shared,
          name: 'chaos',
          include: ['**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...crashes],
          // An attack measures how long others wait meanwhile.
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})

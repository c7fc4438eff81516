import { builtRunsc, byLength } from '@holt/testkit'
import { configDefaults, defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    // The end-to-end tests have a configuration of their own: they share one service.
    include: ['packages/*/test/**/*.test.ts', 'bench/**/*.test.ts', 'site/test/**/*.test.ts'],
    // As the service does.
    env: { HOLT_RUNSC: process.env.HOLT_RUNSC ?? builtRunsc },
    // Minutes each, and other tests run the same code.
    exclude: [...configDefaults.exclude, ...byLength({ short: ['**/*.long.test.ts'], long: [], soak: [] })],
    globalSetup: ['packages/testkit/src/print-seed.ts', 'packages/server/test/support/test-cluster.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Awaited conditions hold within milliseconds, and within seconds on a busy machine.
    expect: { poll: { timeout: 10_000, interval: 20 } },
    // The tests wait more than they compute: three files at once keep two cores busy.
    maxWorkers: 3,
  },
})

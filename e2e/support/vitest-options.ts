import { join } from 'node:path'
import { byLength, nativeModules } from '@holt/testkit'
import { configDefaults } from 'vitest/config'
import { crashFiles, drawnCrashFiles, leftOut } from './files-of-run.ts'
import { laneCount, repository } from './lane.ts'

/** The options of a run of vitest against real services, one in each lane. */
export const withServices = {
  globalSetup: [file('packages/testkit/src/print-seed.ts'), file('e2e/support/global-setup.ts')],
  // The first start builds the base template inside the set-up; stopping removes every runtime.
  teardownTimeout: 120_000,
}

/** The options of the end-to-end tests. */
export const endToEnd = {
  name: 'e2e',
  include: [file('e2e/**/*.test.ts')],
  // They have a cluster instead of a service: e2e/kubernetes/vitest.config.ts.
  exclude: [...configDefaults.exclude, file('e2e/kubernetes/**')],
  setupFiles: [file('e2e/support/leak-check.ts'), file('e2e/support/report-properties.ts')],
  // Each worker has its own service: what one file leaves behind must not be taken for another's.
  maxWorkers: laneCount(),
  testTimeout: 120_000,
  hookTimeout: 180_000,
  experimental: nativeModules,
}

/** Returns the options of the end-to-end tests of one run: a short run draws some of the files. */
export function drawnEndToEnd() {
  return { ...endToEnd, exclude: [...endToEnd.exclude, ...leftOut().map((name) => `**/${name}.test.ts`)] }
}

const chaos = {
  setupFiles: [file('e2e/support/leak-check.ts')],
  testTimeout: byLength({ short: 180_000, long: 3600_000, soak: 3600_000 }),
  hookTimeout: 180_000,
  experimental: nativeModules,
}

/** The options of the chaos tests that measure nothing. */
export const crashes = { ...chaos, name: 'crashes', include: chaosFiles(crashFiles), maxWorkers: laneCount() }

/** Returns the options of the chaos tests that measure nothing, of those that this run has. */
export function drawnCrashes() {
  return { ...crashes, include: chaosFiles(drawnCrashFiles()) }
}

/** The options of the other chaos tests. An attack measures how long others wait meanwhile. */
export const attacks = {
  ...chaos,
  name: 'attacks',
  include: [file('chaos/**/*.test.ts')],
  exclude: [...configDefaults.exclude, ...chaosFiles(crashFiles)],
  maxWorkers: 1,
}

function chaosFiles(names: readonly string[]): string[] {
  return names.map((name) => file(`chaos/${name}.test.ts`))
}

function file(path: string): string {
  return join(repository, path)
}

import { nativeModules } from '@holt/testkit'
import { defineConfig } from 'vitest/config'

/**
 * The tests of the Helm chart, and of a fleet in a real cluster of two Nodes on this machine. They
 * need what `scripts/kube-lab/kube-lab build` and `deploy/image/build` make, and root.
 */
// biome-ignore lint/style/noDefaultExport: vitest reads the default export.
export default defineConfig({
  root: import.meta.dirname,
  test: {
    name: 'kubernetes',
    include: ['*.test.ts'],
    // One cluster at a time: each takes half a minute and the memory of the machine.
    maxWorkers: 1,
    testTimeout: 300_000,
    hookTimeout: 600_000,
    experimental: nativeModules,
  },
})

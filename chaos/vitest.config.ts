import { defineConfig } from 'vitest/config'
import { attacks, crashes, withServices } from '../e2e/support/vitest-options.ts'

// biome-ignore lint/style/noDefaultExport: vitest reads the default export.
export default defineConfig({
  root: import.meta.dirname,
  test: {
    // The services of the end-to-end tests, with their rig and their leak check.
    ...withServices,
    projects: [
      { test: { ...crashes, sequence: { groupOrder: 1 } } },
      { test: { ...attacks, sequence: { groupOrder: 2 } } },
    ],
  },
})

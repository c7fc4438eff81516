import { defineConfig } from 'vitest/config'
import { drawnCrashes, drawnEndToEnd, withServices } from './support/vitest-options.ts'

/**
 * The end-to-end step of `npm test`: the drawn files, and the chaos tests that measure nothing, on
 * the same services.
 */
// biome-ignore lint/style/noDefaultExport: vitest reads the default export.
export default defineConfig({
  test: { ...withServices, projects: [{ test: drawnEndToEnd() }, { test: drawnCrashes() }] },
})

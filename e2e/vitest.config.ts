import { defineConfig } from 'vitest/config'
import { endToEnd, withServices } from './support/vitest-options.ts'

// biome-ignore lint/style/noDefaultExport: vitest reads the default export.
export default defineConfig({ root: import.meta.dirname, test: { ...withServices, ...endToEnd } })

import { join } from 'node:path'
import type { InlineConfig, Plugin } from 'vite'
import { dropUnusedSchemas } from '../../../scripts/bundle/drop-unused-schemas.ts'
import { keepFactsAsData } from '../../../scripts/bundle/facts-as-data.ts'

const root = join(import.meta.dirname, '../../..')

/**
 * Returns the configuration of Vite. The names of all files but the page have the hash of their
 * contents. No file is put into another as data, so that the policy of the page needs no exceptions.
 */
export function viteConfig(outDir: string, plugins: readonly Plugin[] = []): InlineConfig {
  return {
    configFile: false,
    root: join(root, 'packages/console'),
    base: '/console/',
    // Its warnings are the parts of the client that need Node, which nothing here calls.
    logLevel: 'error',
    plugins: [
      keepFactsAsData(root, { 'packages/sdk/src/transport/route-addresses.ts': null }),
      dropUnusedSchemas(),
      ...plugins,
    ],
    build: {
      outDir,
      emptyOutDir: true,
      target: 'es2024',
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      // A test bounds what is loaded first, compressed.
      chunkSizeWarningLimit: Number.POSITIVE_INFINITY,
      rolldownOptions: {
        // Directives for servers that render React mean nothing in a browser.
        checks: { moduleLevelDirective: false },
      },
    },
  }
}

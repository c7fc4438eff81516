import { watch } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildSite } from './build.ts'
import { runVitePress } from './run-vitepress.ts'
import { root, stage } from './stage.ts'

/**
 * Builds the documentation site, by default into `dist/docs`, or shows a preview that follows
 * changes: `main.ts [--out DIR] [--sources FILE] [--dev]`. `scripts/docs.sh` installs its packages.
 */
async function main(): Promise<void> {
  const { dev, out, sources } = parseArgs({
    options: {
      dev: { type: 'boolean', default: false },
      out: { type: 'string', default: join(root, 'dist/docs') },
      sources: { type: 'string' },
    },
  }).values
  if (dev) return preview()
  await buildSite(out, sources)
  console.log(out)
}

/** Shows the site, and stages the pages again after each change of one. */
async function preview(): Promise<void> {
  await stage()
  // Editors write a file in several steps, so one change is several events.
  let waiting: NodeJS.Timeout | undefined
  const again = (_: unknown, name: string | null) => {
    if (name?.endsWith('.md') !== true) return
    clearTimeout(waiting)
    waiting = setTimeout(() => stage().catch((error: Error) => console.error(error.message)), settleMs)
  }
  watch(root, again)
  watch(join(root, 'docs'), { recursive: true }, again)
  await runVitePress('dev')
}

/** The time in milliseconds without further events after which a change is complete. */
const settleMs = 100

await main()

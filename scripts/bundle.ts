import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { makeBundle } from './bundle/make-bundle.ts'
import { useBundle } from './bundle/use-bundle.ts'

/**
 * The time in milliseconds by which a file's time of change may lag: one tick of the kernel (10 ms
 * at 100 ticks a second), doubled.
 */
const tickMs = 20

/**
 * Bundles `holt` and `holtd` into a new directory below dist/bundle, and links `current` to it:
 * `node scripts/bundle.ts`. With a directory as argument, bundles only into that one. The file
 * `begun` is older than every source that is read, so a source that changes meanwhile is newer.
 */
async function main(given: string | undefined): Promise<void> {
  const root = join(import.meta.dirname, '..')
  const bundles = join(root, 'dist', 'bundle')
  const id = `${Date.now().toString(36)}-${randomBytes(4).toString('hex')}`
  const outDir = given ?? join(bundles, id)
  await mkdir(outDir, { recursive: true })
  await writeFile(join(outDir, 'begun'), '')
  await setTimeout(tickMs)
  await makeBundle({ root, outDir, id })
  if (given === undefined) await useBundle(bundles, id)
}

await main(process.argv[2])

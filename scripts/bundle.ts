import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { makeBundle } from './bundle/make-bundle.ts'

/** The time that a file system gives a change may be a tick of the kernel old (10 ms where it ticks a hundred times a second). */
const tickMs = 20
/** A program that still runs loads the rest of its code from the bundle that it began with. */
const keptBundles = 3

/**
 * Bundles `holt` and `holtd` into a new directory below dist/bundle, and makes `current` lead to it: `node scripts/bundle.ts`, or with a directory into that
 * one alone. The file `begun` is older than anything that is read, so a source that changes meanwhile is newer.
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

/** Makes `current` lead to a bundle in one step, and removes those before it that are too old. */
async function useBundle(bundles: string, id: string): Promise<void> {
  const link = join(bundles, `${id}.link`)
  await symlink(id, link)
  await rename(link, join(bundles, 'current'))
  const made = (await readdir(bundles)).filter((name) => name !== 'current').toSorted()
  for (const name of made.slice(0, -keptBundles)) await rm(join(bundles, name), { recursive: true, force: true })
}

await main(process.argv[2])

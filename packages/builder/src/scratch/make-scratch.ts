import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BuilderError } from '../errors.ts'
import { thisProcess } from './owner.ts'

/** By FHS on a disk, where /tmp may be memory, and open to apt's unprivileged user. */
export const defaultWorkDir = '/var/tmp'

/** How the names of scratch directories begin, by what they are for. */
export const scratchPrefixes = { base: 'holt-base-', image: 'holt-image-' } as const

/** Names the process that a scratch directory belongs to, inside it. */
export const ownerFile = 'owner.json'

/** A directory of this process alone, removed at the end. */
export interface Scratch extends AsyncDisposable {
  readonly path: string
}

/**
 * Makes a scratch directory. What a process that was killed leaves of it, `sweepScratch` finds by
 * the owner's name.
 */
export async function makeScratch(workDir: string, kind: keyof typeof scratchPrefixes): Promise<Scratch> {
  await mkdir(workDir, { recursive: true })
  const path = await mkdtemp(join(workDir, scratchPrefixes[kind]))
  await writeFile(join(path, ownerFile), JSON.stringify(await thisProcess()), { mode: 0o600 })
  return { path, [Symbol.asyncDispose]: () => removeScratch(path) }
}

/**
 * Removes a scratch directory, unless something is still mounted in it: then the host's own /dev or
 * /proc would go.
 */
export async function removeScratch(path: string): Promise<void> {
  const mounts = await readFile('/proc/self/mountinfo', 'utf8')
  if (mounts.split('\n').some((line) => (line.split(' ')[4] ?? '').startsWith(`${path}/`))) {
    throw new BuilderError('tool_failed', 'Something is still mounted in a directory that is to be removed.', {
      detail: `unmount what is in ${path}, then remove it`,
    })
  }
  // From here on no other user of the host reaches the tree, whose home and /tmp are theirs by
  // number.
  await chmod(path, 0o700)
  await rm(path, { recursive: true, force: true })
}

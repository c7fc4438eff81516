import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BuilderError } from '../errors.ts'
import { thisProcess } from './owner.ts'

/**
 * The default directory for scratch directories. According to the FHS it is on a disk, while /tmp
 * may be memory. apt's unprivileged user can access it.
 */
export const defaultWorkDir = '/var/tmp'

/** The prefixes of the names of scratch directories, by their use. */
export const scratchPrefixes = { base: 'holt-base-', image: 'holt-image-' } as const

/** The file in a scratch directory that names the process it belongs to. */
export const ownerFile = 'owner.json'

/** A directory of this process alone, removed at the end. */
export interface Scratch extends AsyncDisposable {
  readonly path: string
}

/**
 * Makes a scratch directory. If its process is killed, `sweepScratch` finds the directory by its
 * owner file.
 */
export async function makeScratch(workDir: string, kind: keyof typeof scratchPrefixes): Promise<Scratch> {
  await mkdir(workDir, { recursive: true })
  const path = await mkdtemp(join(workDir, scratchPrefixes[kind]))
  await writeFile(join(path, ownerFile), JSON.stringify(await thisProcess()), { mode: 0o600 })
  return { path, [Symbol.asyncDispose]: () => removeScratch(path) }
}

/**
 * Removes a scratch directory. Throws if something is still mounted in it: otherwise the host's own
 * /dev or /proc would be deleted.
 */
export async function removeScratch(path: string): Promise<void> {
  const mounts = await readFile('/proc/self/mountinfo', 'utf8')
  if (mounts.split('\n').some((line) => (line.split(' ')[4] ?? '').startsWith(`${path}/`))) {
    throw new BuilderError('tool_failed', 'A directory that must be removed still contains a mount.', {
      detail: `unmount everything in ${path}, then remove it`,
    })
  }
  // From here on no other user of the host can reach the tree. Its home directories and /tmp may
  // belong to users of the host with the same numbers.
  await chmod(path, 0o700)
  await rm(path, { recursive: true, force: true })
}

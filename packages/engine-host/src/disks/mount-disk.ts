import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { RuntimePaths } from '../installation/layout.ts'
import { mount } from '../mounts/mount.ts'

/** The directories of the writable layer on a runtime's disk. */
export interface DiskDirs {
  readonly upper: string
  /** The work directory of the kernel's overlay. */
  readonly work: string
}

/** Returns the two directories on a runtime's disk. */
export function diskDirs(paths: RuntimePaths): DiskDirs {
  return { upper: join(paths.diskMount, 'upper'), work: join(paths.diskMount, 'work') }
}

/**
 * Mounts a runtime's disk on the host and makes its directories. The disk is fresh, so it holds no
 * tenant data yet. The host never reads it again. `noinit_itable` keeps the kernel from writing
 * zeros into the sparse file in the background. `data=writeback` and `barrier=0` omit work that
 * only matters after a crash of the host, which no runtime outlives (`ext4(5)`).
 */
export async function mountDisk(paths: RuntimePaths, signal: AbortSignal): Promise<void> {
  await mkdir(paths.diskMount, { mode: 0o700, recursive: true })
  const options = ['loop', 'rw', 'nodev', 'nosuid', 'noatime', 'noinit_itable', 'data=writeback', 'barrier=0']
  await mount({ type: 'ext4', source: paths.diskImage, point: paths.diskMount, options }, signal)
  const { upper, work } = diskDirs(paths)
  await Promise.all([mkdir(upper, { mode: 0o700 }), mkdir(work, { mode: 0o700 })])
}

import { chmod, chown, stat } from 'node:fs/promises'
import { diskDirs } from '../disks/mount-disk.ts'
import type { Layout } from '../installation/layout.ts'
import type { Runtime } from '../runtimes/runtime-registry.ts'

/**
 * Gives the upper directory of a container's overlay the mode and owner of the image's root. The
 * root of the overlay takes them from the upper directory.
 */
export async function prepareUpper(layout: Layout, { record, paths }: Runtime): Promise<void> {
  const { upper } = diskDirs(paths)
  const root = await stat(layout.imageMount(record.spec.imageDigest))
  await chown(upper, root.uid, root.gid)
  await chmod(upper, root.mode & 0o7777)
}

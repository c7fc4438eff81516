import { chmod, chown, stat } from 'node:fs/promises'
import { diskDirs } from '../disks/mount-disk.ts'
import type { Layout } from '../layout.ts'
import { mount } from '../mounts/mount.ts'
import type { Runtime } from '../runtimes/runtime-registry.ts'

/**
 * Mounts a container's root: the image below, the runtime's disk above. `redirect_dir=on` lets a directory of the image be renamed, which package managers do
 * (otherwise EXDEV, `Documentation/filesystems/overlayfs.rst`); `metacopy=off` keeps a changed mode from leaving a file's content to a link that the upper layer could forge.
 * An overlay's root has the mode and owner of the upper directory, so that takes those of the image's root.
 */
export async function mountRoot(layout: Layout, { record, paths }: Runtime, signal: AbortSignal): Promise<void> {
  const { upper, work } = diskDirs(paths)
  const lower = layout.imageMount(record.spec.imageDigest)
  const root = await stat(lower)
  await chown(upper, root.uid, root.gid)
  await chmod(upper, root.mode & 0o7777)
  const options = [
    `lowerdir=${lower}`,
    `upperdir=${upper}`,
    `workdir=${work}`,
    'redirect_dir=on',
    'metacopy=off',
    'nodev',
    // The host's own view of the mount must not let a tenant's program gain rights either.
    'nosuid',
  ]
  await mount({ type: 'overlay', source: `holt-${paths.id}`, point: paths.rootfs, options }, signal)
}

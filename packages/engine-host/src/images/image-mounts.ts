import { mkdir, readdir, rmdir } from 'node:fs/promises'
import type { ImageDigest } from '@holt/engine'
import type { Layout } from '../layout.ts'
import { mount, unmountTree } from '../mounts/mount.ts'
import { readMounts } from '../mounts/mount-table.ts'
import { KeyedLock } from '../tools/keyed-lock.ts'

/**
 * Images mounted by the kernel, read-only, once for all runtimes of the class `container`: lower layer of their overlays. What is mounted is an image our
 * own writer has written; no file system that a stranger made ever reaches the kernel.
 */
export class ImageMounts {
  readonly #layout: Layout
  readonly #locks = new KeyedLock()

  constructor(layout: Layout) {
    this.#layout = layout
  }

  /** Mounts the image unless it is, and answers where. */
  acquire(digest: ImageDigest, signal: AbortSignal): Promise<string> {
    const point = this.#layout.imageMount(digest)
    return this.#locks.run(digest, async () => {
      if ((await readMounts()).some((entry) => entry.point === point)) return point
      await mkdir(point, { recursive: true, mode: 0o700 })
      const options = ['loop', 'ro', 'nodev', 'nosuid']
      await mount({ type: 'erofs', source: this.#layout.image(digest), point, options }, signal)
      return point
    })
  }

  /** Unmounts the image if `stillUsed` says no once it is this call's turn. Not mounted is success. */
  release(digest: ImageDigest, stillUsed: () => boolean): Promise<void> {
    const point = this.#layout.imageMount(digest)
    return this.#locks.run(digest, async () => {
      if (stillUsed()) return
      await unmountTree(point)
      await rmdir(point).catch(() => {
        // It was never mounted.
      })
    })
  }

  /** Unmounts what an earlier process has mounted and `used` does not ask for. */
  async releaseUnused(used: (digest: ImageDigest) => boolean): Promise<void> {
    for (const name of await readdir(this.#layout.imageMounts)) {
      if (!/^[0-9a-f]{64}$/.test(name)) continue
      const digest: ImageDigest = `sha256:${name}`
      await this.release(digest, () => used(digest))
    }
  }
}

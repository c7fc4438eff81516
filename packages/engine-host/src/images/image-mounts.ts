import { readdir, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { KeyedLock } from '@holt/async'
import { EngineError, type ImageDigest, type Isolation } from '@holt/engine'
import { WHOLE_NAME } from '@holt/erofs'
import { hasCode, isThere } from '../files/durable-files.ts'
import type { Layout } from '../installation/layout.ts'
import type { Log } from '../installation/options.ts'
import { unmountTree } from '../mounts/mount.ts'
import { readMounts } from '../mounts/mount-table.ts'
import { lacksBase } from './has-image.ts'
import { mountDelta, mountImage } from './mount-images.ts'

/**
 * The images in the form that runtimes use, each mounted once for all its runtimes. `file` is the
 * image as one file, which gVisor reads. `tree` is that file, mounted read-only by the kernel: the
 * lower layer of a container's overlay. Every mounted image was written by our own writer, here or
 * at another host of the fleet. One from elsewhere has the digest of a row, so it is the image that
 * a host has written. So no foreign file system reaches the kernel.
 */
export class ImageMounts {
  readonly #layout: Layout
  readonly #isUsed: (digest: ImageDigest, isolation?: Isolation) => boolean
  readonly #log: Log
  readonly #locks = new KeyedLock()

  constructor(layout: Layout, isUsed: (digest: ImageDigest, isolation?: Isolation) => boolean, log: Log) {
    this.#layout = layout
    this.#isUsed = isUsed
    this.#log = log
  }

  /**
   * Returns the path of the image as one file. Mounts a delta and its base as one file unless they
   * are mounted.
   */
  file(digest: ImageDigest, signal: AbortSignal): Promise<string> {
    return this.#locks.run(digest, () => this.#file(digest, signal))
  }

  /** Mounts the image unless it is mounted, and returns the mount point. */
  tree(digest: ImageDigest, signal: AbortSignal): Promise<string> {
    const point = this.#layout.imageMount(digest)
    return this.#locks.run(digest, async () => {
      if (await isMounted(point)) return point
      const source = await this.#file(digest, signal)
      await mountImage(source, point, signal)
      return point
    })
  }

  /**
   * Unmounts the mounts of the image that no runtime uses, as soon as earlier calls for it have
   * finished. Succeeds if it is not mounted.
   */
  release(digest: ImageDigest): Promise<void> {
    return this.#locks.run(digest, async () => {
      if (!this.#isUsed(digest, 'container')) await unmountPoint(this.#layout.imageMount(digest))
      if (!this.#isUsed(digest)) await unmountPoint(this.#layout.wholeMount(digest))
    })
  }

  /** Unmounts the images that an earlier process has mounted and no runtime uses. */
  async releaseUnused(): Promise<void> {
    const names = await readdir(this.#layout.imageMounts)
    const found = new Set(names.flatMap((name) => /^([0-9a-f]{64})(?:\.whole)?$/.exec(name)?.[1] ?? []))
    for (const hex of found) {
      try {
        await this.release(`sha256:${hex}`)
      } catch (err) {
        this.#log.error({ err, image: hex }, 'cannot unmount an image that no runtime uses, kept')
      }
    }
  }

  async #file(digest: ImageDigest, signal: AbortSignal): Promise<string> {
    const delta = this.#layout.image(digest)
    const base = this.#layout.imageBase(digest)
    if (!(await isThere(base))) {
      if (await lacksBase(this.#layout, digest)) throw new EngineError('damaged', `the base of ${digest} is not there`)
      return delta
    }
    const point = this.#layout.wholeMount(digest)
    if (!(await isMounted(point))) await mountDelta({ delta, base }, point, signal)
    return join(point, WHOLE_NAME)
  }
}

async function isMounted(point: string): Promise<boolean> {
  return (await readMounts()).some((entry) => entry.point === point)
}

/**
 * Unmounts a mount point and removes it. A point that still has entries then holds a copy of the
 * mounted content: the state directory was copied while its images were mounted. The copy stays,
 * and the next mount covers it.
 */
async function unmountPoint(point: string): Promise<void> {
  if (!(await isThere(point))) return
  await unmountTree(point)
  try {
    await rmdir(point)
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'ENOTEMPTY')) throw error
  }
}

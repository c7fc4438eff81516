import { readdir, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { EngineError, type ImageDigest, type Isolation } from '@holt/engine'
import { WHOLE_NAME } from '@holt/erofs'
import type { Layout } from '../layout.ts'
import { unmountTree } from '../mounts/mount.ts'
import { readMounts } from '../mounts/mount-table.ts'
import type { Log } from '../options.ts'
import { hasCode, isThere } from '../tools/durable-files.ts'
import { KeyedLock } from '../tools/keyed-lock.ts'
import { lacksBase } from './has-image.ts'
import { mountDelta, mountImage } from './mount-images.ts'

/**
 * Images as runtimes use them, each made once for all runtimes of it. `file` is the image as one
 * file, which gVisor reads. `tree` is that file, mounted read-only by the kernel: the lower layer
 * of a container's overlay. What is mounted is an image our own writer has written; no file system
 * that a stranger made ever reaches the kernel.
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
   * Answers the path of the image as one file. A delta and its base are mounted as one unless they
   * are.
   */
  file(digest: ImageDigest, signal: AbortSignal): Promise<string> {
    return this.#locks.run(digest, () => this.#file(digest, signal))
  }

  /** Mounts the image unless it is, and answers where. */
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
   * Unmounts what no runtime uses of the image once it is this call's turn. Not mounted is success.
   */
  release(digest: ImageDigest): Promise<void> {
    return this.#locks.run(digest, async () => {
      if (!this.#isUsed(digest, 'container')) await unmountPoint(this.#layout.imageMount(digest))
      if (!this.#isUsed(digest)) await unmountPoint(this.#layout.wholeMount(digest))
    })
  }

  /** Unmounts what an earlier process has mounted and no runtime uses. */
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
 * Unmounts what is at a point and removes the point. A point that is not empty then has a copy of
 * what was mounted in another place: the state directory was copied while its images were mounted.
 * The copy stays, and the next mount covers it.
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

import { rename, rm } from 'node:fs/promises'
import type { ImageDigest } from '@holt/engine'
import { failpoint } from '@holt/failpoints'
import { syncPath } from '../files/durable-files.ts'
import type { Layout } from '../installation/layout.ts'
import { hasImage } from './has-image.ts'

/** The durable files of an image that has no name yet. */
export interface NewImage {
  readonly temporary: string
  /** The base of a delta; null for an image in a single file. */
  readonly temporaryBase: string | null
}

/**
 * Publishes an image. A delta gets its base first, because an image with its name must be complete.
 */
export async function publishImage(
  layout: Layout,
  digest: ImageDigest,
  { temporary, temporaryBase }: NewImage,
): Promise<void> {
  try {
    if (temporaryBase !== null) {
      await rename(temporaryBase, layout.imageBase(digest))
      await syncPath(layout.images)
      await failpoint('host.image-based')
    }
    await rename(temporary, layout.image(digest))
  } catch (error) {
    if (!(await hasImage(layout, digest))) await rm(layout.imageBase(digest), { force: true })
    throw error
  }
  await failpoint('host.image-named')
  await syncPath(layout.images)
}

import type { ImageDigest } from '@holt/engine'
import { isDelta } from '@holt/erofs'
import { hasCode, isThere } from '../files/durable-files.ts'
import type { Layout } from '../installation/layout.ts'

/** The paths of an image's files. */
type ImagePaths = Pick<Layout, 'image' | 'imageBase'>

/**
 * Returns true if an image's file is a delta and its base is missing: the image is damaged. Rejects
 * with ENOENT if there is no image.
 */
export async function lacksBase(paths: ImagePaths, digest: ImageDigest): Promise<boolean> {
  // The image is checked first: it gets its name after its base, and loses it before.
  return (await isDelta(paths.image(digest))) && !(await isThere(paths.imageBase(digest)))
}

/** Returns true if an image exists, including its base if it is a delta. */
export async function hasImage(paths: ImagePaths, digest: ImageDigest): Promise<boolean> {
  try {
    return !(await lacksBase(paths, digest))
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return false
    throw error
  }
}

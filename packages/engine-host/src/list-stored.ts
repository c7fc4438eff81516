import { readdir } from 'node:fs/promises'
import type { ImageDigest } from '@holt/engine'
import { hasCode } from './files/durable-files.ts'
import { hasImage } from './images/has-image.ts'
import { isCheckpointId, layoutOf } from './installation/layout.ts'

/** The contents of a state directory, by name. */
export interface Stored {
  readonly images: readonly ImageDigest[]
  readonly checkpoints: readonly string[]
}

/**
 * Returns the images and checkpoints in a state directory without an engine. A delta without its
 * base is left out. A directory that was never used has none.
 */
export async function listStored(stateDir: string): Promise<Stored> {
  const layout = layoutOf(stateDir, '/')
  const images: ImageDigest[] = []
  for (const name of await namesIn(layout.images)) {
    const hex = /^([0-9a-f]{64})\.erofs$/.exec(name)?.[1]
    if (hex !== undefined && (await hasImage(layout, `sha256:${hex}`))) images.push(`sha256:${hex}`)
  }
  return { images, checkpoints: (await namesIn(layout.checkpoints)).filter(isCheckpointId) }
}

async function namesIn(dir: string): Promise<readonly string[]> {
  try {
    return await readdir(dir)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return []
    throw error
  }
}

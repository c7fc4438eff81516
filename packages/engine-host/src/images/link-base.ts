import { link, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { ImageDigest } from '@holt/engine'
import { ImageReader } from '@holt/erofs'
import { hasCode } from '../files/durable-files.ts'
import type { Layout } from '../installation/layout.ts'

/** The file of a base, as a delta names it. */
export interface BaseFile {
  /** SHA-256 as hex. */
  readonly sha256: string
  readonly sizeBytes: number
}

/**
 * Links the base of a delta to `target` if this host has it: as an image, or as the base of another
 * delta. Returns false if it has to be copied.
 */
export async function linkBase(layout: Layout, base: BaseFile, target: string): Promise<boolean> {
  if (await tryLink(layout.image(`sha256:${base.sha256}`), target)) return true
  for (const name of await readdir(layout.images)) {
    const hex = /^([0-9a-f]{64})\.base$/.exec(name)?.[1]
    if (hex === undefined || (await sizeOf(join(layout.images, name))) !== base.sizeBytes) continue
    const sameBase = (await baseOf(layout, `sha256:${hex}`)) === base.sha256
    if (sameBase && (await tryLink(join(layout.images, name), target))) return true
  }
  return false
}

async function tryLink(path: string, target: string): Promise<boolean> {
  try {
    await link(path, target)
    return true
  } catch (error) {
    // Absent, or the file system has no more links of it.
    if (hasCode(error, 'ENOENT', 'EPERM', 'EOPNOTSUPP', 'EXDEV', 'EMLINK')) return false
    throw error
  }
}

async function sizeOf(path: string): Promise<number | null> {
  const found = await stat(path).catch(() => null) // Removed meanwhile.
  return found?.size ?? null
}

/** Returns the SHA-256 that a delta has of its base; null if it cannot be read. */
async function baseOf(layout: Layout, digest: ImageDigest): Promise<string | null> {
  try {
    await using reader = await ImageReader.open(layout.image(digest), layout.imageBase(digest))
    return reader.baseSha256
  } catch {
    return null // Removed meanwhile, or damaged.
  }
}

import type { ArtifactFile, ArtifactRef, ImageDigest } from '@holt/engine'

/** The names of the manifest of an artifact. */
const manifests = { plain: 'manifest.json', sealed: 'manifest.sealed' } as const

/** The object with the id of the database whose artifacts are in the store. */
export const ownerKey = 'database-id'

/** The form of the content of a file's object. */
export type Encoding = 'none' | 'zstd'

/** Returns the prefix of all objects of an artifact. */
export function prefixOf({ kind, id }: ArtifactRef): string {
  return kind === 'image' ? `images/${id.replace(':', '/')}/` : `checkpoints/${id}/`
}

/** Returns the key of the manifest of an artifact. */
export function manifestKey(ref: ArtifactRef, isSealed: boolean): string {
  return `${prefixOf(ref)}${isSealed ? manifests.sealed : manifests.plain}`
}

/** Returns the key of a file's object. Its name is the digest of the plain content. */
export function fileKey(
  ref: ArtifactRef,
  { digest }: Pick<ArtifactFile, 'digest'>,
  { encoding, isSealed }: { readonly encoding: Encoding; readonly isSealed: boolean },
): string {
  const suffix = `${encoding === 'zstd' ? '.zst' : ''}${isSealed ? '.sealed' : ''}`
  return `${prefixOf(ref)}${digest.replace(':', '-')}${suffix}`
}

/**
 * Returns the artifact that an object belongs to, and whether it is a manifest; null for others.
 */
export function artifactOfKey(key: string): { readonly ref: ArtifactRef; readonly isManifest: boolean } | null {
  const [, image, checkpoint, name = ''] =
    /^(?:images\/sha256\/([0-9a-f]{64})|checkpoints\/([A-Za-z0-9][A-Za-z0-9_-]{0,63}))\/([^/]+)$/.exec(key) ?? []
  const isManifest = name === manifests.plain || name === manifests.sealed
  if (image !== undefined) return { ref: { kind: 'image', id: `sha256:${image}` as ImageDigest }, isManifest }
  return checkpoint === undefined ? null : { ref: { kind: 'checkpoint', id: checkpoint }, isManifest }
}

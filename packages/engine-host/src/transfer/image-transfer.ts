import { rm, stat } from 'node:fs/promises'
import {
  type ArtifactDescription,
  type ArtifactFile,
  EngineError,
  type FileDigest,
  type ImageDigest,
  type ReadFile,
} from '@holt/engine'
import { ImageReader } from '@holt/erofs'
import { failpoint } from '@holt/failpoints'
import { checkRoom } from '../disks/room.ts'
import { writeVerified } from '../files/write-verified.ts'
import type { Host } from '../host/host.ts'
import { linkBase } from '../images/link-base.ts'
import { hexOf } from '../installation/layout.ts'

/** The name of the file of an image, which has the digest of the image. */
const IMAGE = 'image'

/** The name of the file of the base of a delta. */
const BASE = 'base'

/** The parts of the engine that transfers of images need. */
export type ImageHost = Pick<Host, 'images' | 'layout'>

/** Returns the path of a file of an image, or null if images have no such file. */
export function imageFilePath({ layout }: ImageHost, digest: ImageDigest, name: string): string | null {
  if (name === IMAGE) return layout.image(digest)
  return name === BASE ? layout.imageBase(digest) : null
}

/** Describes an image that is here. Kinds `not_found` and `damaged`. */
export async function describeImage({ images, layout }: ImageHost, digest: ImageDigest): Promise<ArtifactDescription> {
  await using reader = await images.read(digest)
  const files: ArtifactFile[] = [
    { name: IMAGE, sizeBytes: (await stat(layout.image(digest))).size, digest: fileDigestOf(digest) },
  ]
  if (reader.baseSha256 !== null)
    files.push({ name: BASE, sizeBytes: reader.baseBytes, digest: `sha256:${reader.baseSha256}` })
  return { ref: { kind: 'image', id: digest }, files, classId: null, imageDigest: null, details: '' }
}

/** Receives an image, and its base unless the base is here. See `Transfer.receive`. */
export async function receiveImage(
  host: ImageHost,
  { digest, files }: { readonly digest: ImageDigest; readonly files: ArtifactDescription['files'] },
  read: ReadFile,
  signal: AbortSignal,
): Promise<void> {
  const [image, base = null] = files
  if (image?.name !== IMAGE || image.digest !== fileDigestOf(digest))
    throw new EngineError('invalid', `the first file is not that of the image ${digest}`)
  if (files.length > 2 || (base !== null && (base.name !== BASE || !base.digest.startsWith('sha256:'))))
    throw new EngineError('invalid', `an image has no files but its own and that of its base: ${digest}`)
  const { images, layout } = host
  if (await images.has(digest)) return
  if (base !== null && !(await images.mountsDeltas()))
    throw new EngineError('incompatible', `this host cannot mount ${digest}, which has a base`)
  const { temporary, temporaryBase } = images.temporary()
  try {
    const hasBase = base !== null && (await linkBase(layout, baseFileOf(base), temporaryBase))
    const missing = [image, ...(base === null || hasBase ? [] : [base])]
    await checkRoom(
      layout.images,
      missing.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    )
    await writeVerified(temporary, { file: image, read }, signal)
    if (base !== null && !hasBase) await writeVerified(temporaryBase, { file: base, read }, signal)
    await requireWhole(digest, temporary, base === null ? null : { path: temporaryBase, digest: base.digest })
    await failpoint('host.files-received')
    await images.publish(digest, { temporary, temporaryBase: base === null ? null : temporaryBase })
  } finally {
    // A link that is renamed over one of the same file keeps its name (`rename(2)`).
    for (const path of [temporary, temporaryBase]) await rm(path, { force: true })
  }
}

/**
 * Checks that a received file is an image, and that it has the base that came with it. The file
 * has its digest, so only its description can be wrong.
 */
async function requireWhole(
  digest: ImageDigest,
  path: string,
  base: { readonly path: string; readonly digest: FileDigest } | null,
): Promise<void> {
  const fail = (cause?: unknown) =>
    new EngineError('damaged', `the files received are not those of ${digest}`, { cause })
  let baseSha256: string | null
  try {
    await using reader = await ImageReader.open(path, base?.path ?? null)
    baseSha256 = reader.baseSha256
  } catch (error) {
    throw fail(error)
  }
  if (baseSha256 !== (base === null ? null : baseFileOf({ ...base, sizeBytes: 0 }).sha256)) throw fail()
}

function fileDigestOf(digest: ImageDigest): FileDigest {
  return `sha256:${hexOf(digest)}`
}

function baseFileOf({ digest, sizeBytes }: Pick<ArtifactFile, 'digest' | 'sizeBytes'>) {
  return { sha256: hexOf(digest), sizeBytes }
}

import { createHash } from 'node:crypto'
import { type ArtifactDescription, type ArtifactRef, checkDescription, EngineError } from '@holt/engine'
import { ObjectStoreError } from '@holt/object-store'
import { z } from 'zod'

/** The format of manifests and of the objects that they name. */
const format = 1

/** The maximum number of bytes of a manifest. One of 256 GiB in frames has some 600 KiB. */
export const maxManifestBytes = 4 * 2 ** 20

const Stored = z.strictObject({
  name: z.string(),
  encoding: z.enum(['none', 'zstd']),
  /** The size of the object's content before it was sealed. */
  storedBytes: z.number().int().nonnegative(),
  /** The sizes of the frames; empty without compression. */
  frames: z.array(z.number().int().positive()),
})

const Content = z.strictObject({
  description: z.strictObject({
    ref: z.strictObject({ kind: z.enum(['image', 'checkpoint']), id: z.string() }),
    files: z.array(z.strictObject({ name: z.string(), sizeBytes: z.number(), digest: z.string() })),
    classId: z.string().nullable(),
    imageDigest: z.string().nullable(),
    details: z.string(),
  }),
  files: z.array(Stored),
})

const Manifest = z.strictObject({ format: z.literal(format), sha256: z.string(), content: Content })

/** The object of a file of an artifact. */
export type StoredFile = z.infer<typeof Stored>

/** The last object of an artifact. It says what the others are. */
export interface ArtifactManifest {
  readonly description: ArtifactDescription
  readonly files: readonly StoredFile[]
}

/** Returns a manifest as JSON, with a digest of itself. */
export function formatManifest({ description, files }: ArtifactManifest): Buffer {
  const content = { description, files }
  return Buffer.from(JSON.stringify({ format, sha256: digestOf(content), content }))
}

/** Parses the manifest of an artifact. Fails with `damaged` for any other bytes. */
export function parseManifest(bytes: Buffer, ref: ArtifactRef): ArtifactManifest {
  try {
    const { sha256, content } = Manifest.parse(JSON.parse(bytes.toString()))
    const description = content.description as ArtifactDescription
    if (digestOf(content) !== sha256) throw new Error('its digest differs')
    if (description.ref.kind !== ref.kind || description.ref.id !== ref.id) throw new Error('it is of another artifact')
    checkDescription(description)
    const areNamed = description.files.every(({ name }, at) => content.files[at]?.name === name)
    if (!areNamed || content.files.length !== description.files.length) throw new Error('it has other files')
    return { description, files: content.files }
  } catch (error) {
    if (error instanceof EngineError && error.kind !== 'invalid') throw error
    throw new ObjectStoreError('damaged', `the manifest of ${ref.kind} ${ref.id} in the object store is damaged`, {
      cause: error,
    })
  }
}

function digestOf(content: unknown): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('hex')
}

import type { ArtifactDescription, ArtifactRef, ByteRange, FileDigest, ImageDigest } from '@holt/engine'
import { z } from 'zod'

/** The path below which a host gives artifacts to other hosts. */
const prefix = '/peer/artifact/'

/** The maximum number of bytes of a description in JSON. */
export const maxDescriptionBytes = 256 * 1024

const digest = z.templateLiteral(['sha256:', z.string()]).transform((text): ImageDigest => text)

const Ref = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('image'), id: digest }),
  z.strictObject({ kind: z.literal('checkpoint'), id: z.string() }),
])

const Description = z.strictObject({
  ref: Ref,
  files: z.array(
    z.strictObject({
      name: z.string(),
      sizeBytes: z.number(),
      digest: z.string().transform((text) => text as FileDigest),
    }),
  ),
  classId: z.string().nullable(),
  imageDigest: digest.nullable(),
  details: z.string(),
})

/** A request of another host: for a description, or for a file of an artifact. */
export interface AskedArtifact {
  readonly ref: ArtifactRef
  /** Null: the description. */
  readonly file: string | null
}

/** Returns the path of an artifact's description, or of one of its files. */
export function artifactPath({ kind, id }: ArtifactRef, file: string | null = null): string {
  const path = `${prefix}${kind}/${encodeURIComponent(id)}`
  return file === null ? path : `${path}/${encodeURIComponent(file)}`
}

/** Parses the path of a request for an artifact. Returns null for any other path. */
export function parseArtifactPath(path: string): AskedArtifact | null {
  const [, kind, escapedId = '', file = null] =
    /^\/peer\/artifact\/(image|checkpoint)\/([\w%-]{1,80})(?:\/([a-z0-9_-][a-z0-9._-]{0,63}))?$/.exec(path) ?? []
  const id = escapedId.replace('%3A', ':')
  if (kind === 'image' && /^sha256:[0-9a-f]{64}$/.test(id)) return { ref: { kind, id: id as ImageDigest }, file }
  const isCheckpoint = kind === 'checkpoint' && /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(id)
  return isCheckpoint ? { ref: { kind, id }, file } : null
}

/**
 * Parses a description. Returns null if it has another form. The engine that receives the artifact
 * checks the values.
 */
export function parseDescription(text: string): ArtifactDescription | null {
  try {
    const parsed = Description.safeParse(JSON.parse(text))
    return parsed.success ? parsed.data : null
  } catch {
    return null // Not JSON.
  }
}

/** Returns the header `range` of a part that is not empty (RFC 9110, 14.2). */
export function rangeHeader({ offset, length }: ByteRange): string {
  return `bytes=${offset}-${offset + length - 1}`
}

/** Parses a header `range` of one part with both ends. Returns null for any other. */
export function parseRange(header: unknown): ByteRange | null {
  const [, first, last] = typeof header === 'string' ? (/^bytes=(\d{1,15})-(\d{1,15})$/.exec(header) ?? []) : []
  if (first === undefined || Number(last) < Number(first)) return null
  return { offset: Number(first), length: Number(last) - Number(first) + 1 }
}

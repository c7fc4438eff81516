import { createHash } from 'node:crypto'
import { z } from 'zod'
import { BuildError } from '../errors.ts'
import type { ImageLimits } from '../image/image-limits.ts'
import { bounded, type Descriptor, manifestSchema } from '../image/oci-schemas.ts'
import { hostArchitecture } from '../image/platform.ts'

/** A manifest as received from a registry. */
export interface ManifestBytes {
  readonly bytes: Uint8Array
  /** The media type without parameters. */
  readonly mediaType: string
  readonly digest: string
}

/** The manifest of one image. */
export interface ImageManifest extends ManifestBytes {
  readonly config: Descriptor
  readonly layers: readonly Descriptor[]
}

const ociIndex = 'application/vnd.oci.image.index.v1+json'
const ociManifest = 'application/vnd.oci.image.manifest.v1+json'
const dockerList = 'application/vnd.docker.distribution.manifest.list.v2+json'
const dockerManifest = 'application/vnd.docker.distribution.manifest.v2+json'

/** The accepted media types: manifests of images, and indexes of them. */
export const manifestTypes: readonly string[] = [ociIndex, ociManifest, dockerList, dockerManifest]

const configTypes: ReadonlySet<string> = new Set([
  'application/vnd.oci.image.config.v1+json',
  'application/vnd.docker.container.image.v1+json',
])
const layerTypes: ReadonlySet<string> = new Set([
  'application/vnd.oci.image.layer.v1.tar',
  'application/vnd.oci.image.layer.v1.tar+gzip',
  'application/vnd.oci.image.layer.v1.tar+zstd',
  'application/vnd.docker.image.rootfs.diff.tar',
  'application/vnd.docker.image.rootfs.diff.tar.gzip',
])

const platformSchema = z.object({
  architecture: z.string().max(64),
  os: z.string().max(64),
  variant: z.string().max(64).optional(),
})

const indexSchema = z.object({
  manifests: bounded(
    z.object({
      mediaType: z.string().max(255),
      digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
      platform: platformSchema.nullish(),
    }),
    { max: 4096 },
  ),
})

const kindSchema = z.object({
  mediaType: z.string().max(255).optional(),
  schemaVersion: z.unknown().optional(),
  manifests: z.unknown().optional(),
  layers: z.unknown().optional(),
  fsLayers: z.unknown().optional(),
})

/**
 * Returns the digest of the manifest for this host in an index, or null for the manifest of an
 * image itself.
 */
export function chooseFromIndex(manifest: ManifestBytes, reference: string): string | null {
  const body = readKind(manifest, reference)
  if (manifest.mediaType === ociManifest || manifest.mediaType === dockerManifest) return null
  const { manifests } = parse(indexSchema, body, reference)
  const fitting = manifests.filter(
    ({ mediaType, platform }) =>
      (mediaType === ociManifest || mediaType === dockerManifest) &&
      platform?.os === 'linux' &&
      platform.architecture === hostArchitecture,
  )
  // Variants name extensions of one architecture (arm64: v8). The plainest one runs everywhere.
  const plain = fitting.find(({ platform }) => (platform?.variant ?? 'v8') === 'v8') ?? fitting[0]
  if (plain !== undefined) return plain.digest
  const names = manifests.flatMap(({ platform }) => (platform?.os === 'linux' ? [platform.architecture] : []))
  throw new BuildError('image_unsupported', `${reference} has no image for linux/${hostArchitecture}.`, {
    hint: names.length === 0 ? 'It has none for Linux.' : `It has: ${[...new Set(names)].slice(0, 20).join(', ')}.`,
  })
}

/**
 * Reads the manifest of an image. Throws for a manifest of something else, a layer outside of the
 * registry, and an image that is too large.
 */
export function readImageManifest(manifest: ManifestBytes, reference: string, limits: ImageLimits): ImageManifest {
  const body = readKind(manifest, reference)
  const { config, layers } = parse(manifestSchema, body, reference)
  if (!configTypes.has(config.mediaType))
    throw unsupported(reference, `is not a container image but ${JSON.stringify(config.mediaType.slice(0, 80))}`)
  const foreign = layers.find(({ mediaType, urls }) => urls !== undefined || !layerTypes.has(mediaType))
  if (foreign?.urls !== undefined) throw unsupported(reference, 'has a layer that lies outside of the registry')
  if (foreign !== undefined)
    throw unsupported(reference, `has a layer of the kind ${JSON.stringify(foreign.mediaType.slice(0, 80))}`)
  const bytes = layers.reduce((sum, { size }) => sum + size, 0)
  if (bytes > limits.maxLayerBytes)
    throw unsupported(reference, `has layers of ${bytes} bytes, and at most ${limits.maxLayerBytes} are allowed`)
  return { ...manifest, config, layers }
}

/** Returns the digest of the content. */
export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}

/**
 * Returns the body if it has exactly the kind that its type states. Two readers of one manifest
 * must see one image (CVE-2021-41190).
 */
function readKind({ bytes, mediaType }: ManifestBytes, reference: string): unknown {
  const body = parseJson(bytes, reference)
  const kind = parse(kindSchema, body, reference)
  if (kind.schemaVersion === 1 || kind.fsLayers !== undefined)
    throw unsupported(reference, 'has a manifest of schema 1, which is not supported')
  if (!manifestTypes.includes(mediaType))
    throw unsupported(reference, `is not a container image but ${JSON.stringify(mediaType.slice(0, 80))}`)
  const isIndex = mediaType === ociIndex || mediaType === dockerList
  const isBoth = kind.manifests !== undefined && kind.layers !== undefined
  if (isBoth || (kind.mediaType !== undefined && kind.mediaType !== mediaType))
    throw unsupported(reference, 'has a manifest that can be read in two ways')
  if (isIndex !== (kind.manifests !== undefined)) throw unsupported(reference, 'has a manifest that cannot be parsed')
  return body
}

function parseJson(bytes: Uint8Array, reference: string): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'))
  } catch (cause) {
    throw unsupported(reference, 'has a manifest that is not JSON', cause)
  }
}

function parse<S extends z.ZodType>(schema: S, body: unknown, reference: string): z.infer<S> {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  throw unsupported(reference, 'has a manifest that cannot be parsed', parsed.error)
}

function unsupported(reference: string, why: string, cause?: unknown): BuildError {
  return new BuildError('image_unsupported', `${reference} ${why}.`, { cause })
}

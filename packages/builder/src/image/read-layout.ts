import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { BuilderError } from '../errors.ts'
import { readSmallBlob } from './blob.ts'
import { configSchema, type Descriptor, indexSchema, manifestSchema } from './oci-schemas.ts'
import { hostArchitecture } from './platform.ts'

/**
 * The configuration of an image. The author of the image wrote it: it is data, and never an
 * instruction to the host.
 */
export interface ImageConfig {
  readonly architecture: string
  readonly user: string
  readonly workdir: string
  readonly env: readonly string[]
  readonly entrypoint: readonly string[]
  readonly command: readonly string[]
  /** The words of SHELL. Empty if the image has none. */
  readonly shell: readonly string[]
  readonly onBuild: readonly string[]
  readonly labels: Readonly<Record<string, string>>
  /** The exposed ports, such as `8080/tcp`. */
  readonly ports: readonly string[]
}

/** One layer in a file on this host, and the digest of its uncompressed content. */
export interface Layer {
  readonly path: string
  readonly descriptor: Descriptor
  readonly diffId: string
}

/** An image on this host. */
export interface LayoutImage {
  readonly config: ImageConfig
  /** The layers from the lowest to the highest. */
  readonly layers: readonly Layer[]
}

/**
 * Reads the only image of an OCI layout. Its manifest and configuration are verified. Its layers
 * are verified when they are read.
 */
export async function readLayout(layout: string, maxLayerBytes: number): Promise<LayoutImage> {
  const [top] = parse(indexSchema, await readFile(join(layout, 'index.json')), 'index').manifests
  if (top === undefined) throw new BuilderError('image_invalid', 'The image has no manifest.')
  const manifest = parse(manifestSchema, await readSmallBlob(layout, top), 'manifest')
  const { config, diffIds } = readConfig(await readSmallBlob(layout, manifest.config))
  const layers = pairLayers(join(layout, 'blobs/sha256'), manifest.layers, diffIds)
  refuseLarge(layers, maxLayerBytes)
  return { config, layers }
}

/** Reads a configuration. Throws `platform_missing` for an image for another platform. */
export function readConfig(bytes: Uint8Array): { readonly config: ImageConfig; readonly diffIds: readonly string[] } {
  const parsed = parse(configSchema, bytes, 'configuration')
  refuseForeign(parsed)
  return { config: toConfig(parsed), diffIds: parsed.rootfs.diff_ids }
}

/**
 * Pairs layers with the digests of their content. Their files are in `dir`, with the digests in hex
 * as names. Throws `image_invalid` if the numbers differ.
 */
export function pairLayers(
  dir: string,
  descriptors: readonly Descriptor[],
  diffIds: readonly string[],
): readonly Layer[] {
  if (diffIds.length !== descriptors.length) {
    throw new BuilderError('image_invalid', "The image's manifest and configuration disagree on the number of layers.")
  }
  return descriptors.map((descriptor, index) => {
    const path = join(dir, descriptor.digest.slice('sha256:'.length))
    return { path, descriptor, diffId: diffIds[index] ?? '' }
  })
}

function refuseForeign({ os, architecture }: z.infer<typeof configSchema>): void {
  if (os === 'linux' && architecture === hostArchitecture) return
  const platform = `${os}/${architecture}`.slice(0, 80)
  throw new BuilderError('platform_missing', `The image is for ${platform}; this host runs linux/${hostArchitecture}.`)
}

function refuseLarge(layers: readonly Layer[], maxLayerBytes: number): void {
  const sum = layers.reduce((total, { descriptor }) => total + descriptor.size, 0)
  if (sum > maxLayerBytes)
    throw new BuilderError(
      'image_too_large',
      `The image's layers have ${sum} bytes, and at most ${maxLayerBytes} are allowed.`,
    )
}

function toConfig({ architecture, config }: z.infer<typeof configSchema>): ImageConfig {
  return {
    architecture,
    user: config?.User ?? '',
    workdir: config?.WorkingDir ?? '',
    env: config?.Env ?? [],
    entrypoint: config?.Entrypoint ?? [],
    command: config?.Cmd ?? [],
    shell: config?.Shell ?? [],
    onBuild: config?.OnBuild ?? [],
    labels: config?.Labels ?? {},
    ports: Object.keys(config?.ExposedPorts ?? {}),
  }
}

function parse<S extends z.ZodType>(schema: S, bytes: Uint8Array, what: string): z.infer<S> {
  try {
    return schema.parse(JSON.parse(Buffer.from(bytes).toString('utf8')))
  } catch (cause) {
    const detail = cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause)
    throw new BuilderError('image_invalid', `The image's ${what} cannot be parsed.`, { detail, cause })
  }
}

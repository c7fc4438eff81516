import { tmpdir } from 'node:os'
import { type Entry, ErofsInputError, readTar } from '@holt/erofs'
import { BuilderError } from '../errors.ts'
import { type ByteBudget, layerBytes } from './blob.ts'
import { type Content, LayerTree } from './layer-tree.ts'
import { type ImageConfig, type Layer, pullImage, type RegistryAuth } from './pull-image.ts'
import { parseReference } from './reference.ts'

/** Limits of an image; what goes beyond is refused with `image_too_large`. */
export interface ImageLimits {
  /** Entries over all layers. Default 2,000,000. */
  readonly maxEntries: number
  /** Compressed bytes over all layers, as the manifest states them. Default 16 GiB. */
  readonly maxLayerBytes: number
  /** Uncompressed bytes over all layers. Default 32 GiB. */
  readonly maxBytes: number
}

/** Which image, and with what. */
export interface FlattenOptions {
  readonly reference: string
  /** Where the compressed layers stay until the tree is disposed. Default: the system's temporary directory. */
  readonly workDir?: string
  readonly auth?: RegistryAuth
  readonly limits?: Partial<ImageLimits>
  readonly env?: NodeJS.ProcessEnv
  readonly signal: AbortSignal
}

/** A flattened image: read `entries` once, then dispose. */
export interface ImageTree extends AsyncDisposable {
  /** The digest of the manifest for this host's platform. */
  readonly digest: string
  readonly config: ImageConfig
  readonly entries: AsyncIterable<Entry>
}

const defaultLimits: ImageLimits = { maxEntries: 2_000_000, maxLayerBytes: 16 * 2 ** 30, maxBytes: 32 * 2 ** 30 }

/**
 * Fetches an image and lays its layers over each other as one stream of entries, without unpacking anything. The layers
 * are read twice: first the headers, to learn what is hidden, with all digests verified; then the content that remains.
 */
export async function flattenImage(options: FlattenOptions): Promise<ImageTree> {
  const reference = parseReference(options.reference)
  const limits = { ...defaultLimits, ...options.limits }
  const { workDir = tmpdir(), env = process.env, auth, signal } = options
  await using owned = new AsyncDisposableStack()
  const { maxLayerBytes } = limits
  const image = owned.use(await pullImage({ reference, workDir, auth, env, signal, maxLayerBytes }))
  const tree = new LayerTree(limits.maxEntries)
  const budget = { left: limits.maxBytes }
  for (const [index, layer] of image.layers.entries()) {
    await tree.addLayer(index, layerEntries(layer, { verify: true, budget }, signal))
  }
  const { directories, contents } = tree.finish()
  const kept = owned.move()
  return {
    digest: image.manifestDigest,
    config: image.config,
    entries: inOrder(image.layers, directories, contents, signal),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

async function* inOrder(
  layers: readonly Layer[],
  directories: readonly Entry[],
  contents: ReadonlySet<Content>,
  signal: AbortSignal,
): AsyncGenerator<Entry> {
  yield* directories
  for (const [index, layer] of layers.entries()) {
    const wanted = new Map(
      [...contents].filter((content) => content.layer === index).map((content) => [content.position, content]),
    )
    let position = 0
    for await (const entry of layerEntries(
      layer,
      { verify: false, budget: { left: Number.POSITIVE_INFINITY } },
      signal,
    )) {
      const [path, ...others] = wanted.get(position)?.paths ?? []
      position += 1
      if (path === undefined) continue
      yield { ...entry, path }
      // The names of one content stand together, whichever layers they came from: a link's target is always there.
      for (const other of others) yield { ...withoutContent(entry), type: 'hardlink', path: other, linkTarget: path }
    }
  }
}

function withoutContent({ mode, uid, gid, mtimeSecs, mtimeNanos }: Entry) {
  return { mode, uid, gid, mtimeSecs, mtimeNanos }
}

async function* layerEntries(
  layer: Layer,
  how: { readonly verify: boolean; readonly budget: ByteBudget },
  signal: AbortSignal,
): AsyncGenerator<Entry> {
  try {
    // To the end of the layer, where its digests are judged: readTar reads what stands behind the archive as well.
    for await (const entry of readTar(layerBytes(layer, how))) {
      signal.throwIfAborted()
      yield entry
    }
  } catch (error) {
    if (error instanceof ErofsInputError) {
      throw new BuilderError('image_invalid', `A layer cannot be read: ${error.message}`, { cause: error })
    }
    throw error
  }
}

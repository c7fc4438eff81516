import { setImmediate } from 'node:timers/promises'
import { type Entry, readTar, TarError } from '@holt/tar'
import { BuilderError } from '../errors.ts'
import { defaultWorkDir } from '../scratch/make-scratch.ts'
import { type ByteBudget, layerBytes } from './blob.ts'
import { defaultLimits, type ImageLimits } from './image-limits.ts'
import { type ImageSettings, settingsOf } from './image-settings.ts'
import { type Content, LayerTree } from './layer-tree.ts'
import { pullImage, type RegistryAuth } from './pull-image.ts'
import type { Layer } from './read-layout.ts'
import { parseReference } from './reference.ts'

/** Options for flattening an image. */
export interface FlattenOptions {
  readonly reference: string
  /** The directory of the compressed layers until the tree is disposed. Default: /var/tmp. */
  readonly workDir?: string
  readonly auth?: RegistryAuth
  readonly limits?: Partial<ImageLimits>
  readonly env?: NodeJS.ProcessEnv
  /** Called when `done` of the `total` layers have been fetched and their headers read. */
  readonly onLayer?: ((done: number, total: number) => void) | undefined
  readonly signal: AbortSignal
}

/** A flattened image. Read `entries` once, then dispose. */
export interface ImageTree extends AsyncDisposable {
  /** The digest of the image in the registry. It stays the same when the tag moves. */
  readonly digest: string
  readonly settings: ImageSettings
  /** The tree, including the working directory. */
  readonly entries: AsyncIterable<Entry>
}

/**
 * Fetches an image and merges its layers into one stream of entries, without unpacking. The layers
 * are read twice. The first pass reads the headers to find hidden entries, and verifies all
 * digests. The second pass reads the content that remains.
 */
export async function flattenImage(options: FlattenOptions): Promise<ImageTree> {
  const reference = parseReference(options.reference)
  const limits = { ...defaultLimits, ...options.limits }
  const { workDir = defaultWorkDir, env = process.env, auth, onLayer, signal } = options
  await using owned = new AsyncDisposableStack()
  const { maxLayerBytes } = limits
  const image = owned.use(await pullImage({ reference, workDir, auth, env, signal, maxLayerBytes }))
  const laid = await layLayers(image.layers, { limits, onLayer, signal })
  const settings = await settingsOf(image.config, laid.read)
  const kept = owned.move()
  return {
    digest: image.digest,
    settings,
    entries: laid.entries(settings.workdir),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

/** Layers that are merged in memory, with verified digests. */
export interface LaidLayers {
  /** Returns the first part of a file as text, or null if there is none. */
  read(path: string): Promise<string | null>
  /** Returns the tree with a working directory in it. May be called once. */
  entries(workdir: string): AsyncIterable<Entry>
}

/** Reads the headers of layers to find hidden entries, and verifies the layers. */
export async function layLayers(
  layers: readonly Layer[],
  { limits, onLayer, signal }: { limits: ImageLimits; onLayer: FlattenOptions['onLayer']; signal: AbortSignal },
): Promise<LaidLayers> {
  const tree = new LayerTree(limits.maxEntries)
  const budget = { left: limits.maxBytes }
  for (const [index, layer] of layers.entries()) {
    onLayer?.(index, layers.length)
    await tree.addLayer(index, layerEntries(layer, { verify: true, budget }, signal), signal)
  }
  onLayer?.(layers.length, layers.length)
  return {
    read: (path) => readFile(layers, tree.find(path), signal),
    entries: (workdir) => {
      tree.makeDirectory(workdir)
      return inOrder(layers, tree, signal)
    },
  }
}

/** The options for reading a layer after its digests were verified and its bytes counted. */
const unverified = { verify: false, budget: { left: Number.POSITIVE_INFINITY } }

async function* inOrder(layers: readonly Layer[], tree: LayerTree, signal: AbortSignal): AsyncGenerator<Entry> {
  const { directories, contents } = await tree.finish()
  for (const [index, directory] of directories.entries()) {
    // Nothing is read between the directories, and other work needs its turn.
    if (index % 2048 === 2047) await setImmediate()
    yield directory
  }
  for (const [index, layer] of layers.entries()) {
    const wanted = contents.get(index)
    if (wanted === undefined) continue
    let position = 0
    for await (const entry of layerEntries(layer, unverified, signal)) {
      const [path, ...others] = wanted.get(position)?.paths ?? []
      position += 1
      if (path === undefined) continue
      yield { ...entry, path }
      // All names of one content follow each other, regardless of their layers, so that the target
      // of a link already exists.
      for (const other of others) yield { ...withoutContent(entry), type: 'hardlink', path: other, linkTarget: path }
    }
  }
}

/** The maximum number of bytes read of a small file, enough for /etc/passwd of a large system. */
const MAX_SMALL_FILE = 2 ** 20

/** Returns the first part of a small file of the tree, or null if there is none. */
async function readFile(
  layers: readonly Layer[],
  content: Content | undefined,
  signal: AbortSignal,
): Promise<string | null> {
  const layer = content === undefined ? undefined : layers[content.layer]
  if (content === undefined || layer === undefined) return null
  let position = 0
  for await (const entry of layerEntries(layer, unverified, signal)) {
    if (position++ !== content.position) continue
    const chunks: Uint8Array[] = []
    let bytes = 0
    if (entry.type === 'file') {
      for await (const chunk of entry.body ?? []) {
        chunks.push(chunk)
        bytes += chunk.length
        if (bytes >= MAX_SMALL_FILE) break
      }
    }
    return Buffer.concat(chunks).subarray(0, MAX_SMALL_FILE).toString('utf8')
  }
  return null
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
    // `readTar` also reads the bytes behind the archive, up to the end of the layer, at which its
    // digests are checked.
    for await (const entry of readTar(layerBytes(layer, how))) {
      signal.throwIfAborted()
      yield entry
    }
  } catch (error) {
    if (error instanceof TarError) {
      throw new BuilderError('image_invalid', `A layer cannot be read: ${error.message}`, { cause: error })
    }
    throw error
  }
}

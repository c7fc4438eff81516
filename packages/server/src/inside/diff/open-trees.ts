import { EngineError, type ImageDigest, type ImageStore } from '@holt/engine'
import type { GuestClient } from '@holt/guest-client'
import { type FileDiff, HoltError } from '@holt/protocol'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Inside } from '../inside.ts'
import { asBase, type BaseTree } from './base-tree.ts'
import { readBaseline } from './baseline-tree.ts'
import { type DiffBase, noRecord } from './diff-base.ts'

/** The trees that a runtime is compared with. */
export interface Trees extends AsyncDisposable {
  readonly base: BaseTree
  readonly own: BaseTree
  /** The base that was found. */
  readonly since: FileDiff['since']
}

interface TreesToOpen {
  readonly base: DiffBase
  readonly row: RuntimeRow
  readonly guest: GuestClient
  /** Only the tree at this path is compared. */
  readonly path: Buffer
  readonly signal: AbortSignal
}

/**
 * Opens the base of a diff and the runtime's own image. A record is above that image. Without the
 * record, which forks and memory snapshots take only if they are asked, the base is the image.
 */
export async function openTrees(
  { engine }: Pick<Inside, 'engine'>,
  { base: { image, record }, row, guest, path, signal }: TreesToOpen,
): Promise<Trees> {
  const images = engine.ability('images')
  if (images === null) throw new HoltError('not_supported_here', 'This host has no images to compare with.')
  await using opened = new AsyncDisposableStack()
  const open = async (digest: string) => opened.use(await openTree(images, digest as ImageDigest))
  const own = await open(row.image_digest)
  const records = record === null ? null : await guest.listings.baseline(record.checkpointId, signal)
  const found = async () => {
    if (records !== null && record !== null)
      return { base: await readBaseline({ records, image: own, path }), since: record.since }
    if (record?.isRequired === true) throw noRecord(record)
    return { base: image.digest === row.image_digest ? own : await open(image.digest), since: image.since }
  }
  const trees = { own, ...(await found()) }
  const all = opened.move()
  return { ...trees, [Symbol.asyncDispose]: () => all.disposeAsync() }
}

async function openTree(images: ImageStore, digest: ImageDigest): Promise<BaseTree> {
  try {
    return asBase(await images.open(digest))
  } catch (error) {
    if (!(error instanceof EngineError) || error.kind !== 'not_found') throw error
    throw new HoltError('snapshot_damaged', 'The image to compare with is missing.', { cause: error })
  }
}

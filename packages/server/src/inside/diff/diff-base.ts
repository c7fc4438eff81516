import type { ImageDigest } from '@holt/engine'
import { type FileDiff, HoltError } from '@holt/protocol'
import type { Foundation } from '../../foundation/foundation.ts'
import { checkpointOf } from '../../foundation/rows/checkpoint-id.ts'
import type { RuntimeRow, SnapshotRow } from '../../foundation/store/tables.ts'
import { findSnapshot, requireWritten } from '../../runtimes/snapshots/find-snapshot.ts'

/** The base of a diff: an image, or a record of the files. */
export interface DiffBase {
  /** The image to compare with, unless there is a record. */
  readonly image: ImageBase
  /** The record of the runtime's files at a checkpoint; null if the base is an image. */
  readonly record: RecordBase | null
}

interface ImageBase {
  readonly digest: ImageDigest
  readonly since: FileDiff['since']
}

interface RecordBase {
  /** The checkpoint. Null: the fork with which the runtime began. */
  readonly checkpointId: string | null
  readonly since: FileDiff['since']
  /** True if the image cannot be the base instead. */
  readonly isRequired: boolean
}

/** Stands for the image below a runtime in `since`. */
const image = 'image'

type Rows = Pick<Foundation, 'store'>

/**
 * Returns the base of a diff: a snapshot of the runtime, or its beginning. A fork began at the
 * fork, and a runtime of a memory snapshot at the snapshot, if there is a record of the files then.
 * Others began as an image.
 */
export async function findDiffBase({ store }: Rows, row: RuntimeRow, since: string | undefined): Promise<DiffBase> {
  if (since === undefined) return { image: await imageOf({ store }, row), record: await beginningOf({ store }, row) }
  if (since === image) return { image: await imageOf({ store }, row), record: null }
  const snapshot = await findSnapshot(store.db, { projectId: row.project_id, reference: since })
  requireWritten(snapshot)
  if (!isOfLine(snapshot, row))
    throw new HoltError('conflict', `The snapshot ${shownName(snapshot)} is not of this runtime.`, {
      hint: 'Give a snapshot that was taken of this runtime, or leave out since.',
    })
  const base = baseOf(snapshot)
  const record = { checkpointId: checkpointOf(snapshot.snapshot_id), since: base.since, isRequired: true }
  return { image: base, record: snapshot.kind === 'memory' ? record : null }
}

/** Returns the error of a runtime whose memory has no record of its files at a memory snapshot. */
export function noRecord({ since }: RecordBase): HoltError {
  return new HoltError(
    'conflict',
    `The runtime has no record of its files at the snapshot ${since.name ?? since.id}.`,
    {
      hint: 'Take memory snapshots with record_files: true. A runtime keeps the last eight records. Filesystem snapshots need none.',
    },
  )
}

function shownName({ name, snapshot_id }: SnapshotRow): string {
  return name ?? snapshot_id
}

/**
 * Returns true if the runtime had the files of the snapshot once. A fork has those of its parent
 * until the fork.
 */
function isOfLine(snapshot: SnapshotRow, row: RuntimeRow): boolean {
  const isParents = snapshot.runtime_id === row.parent_id && snapshot.created_at < row.created_at
  return snapshot.runtime_id === row.runtime_id || isParents || snapshot.image_digest === row.image_digest
}

/** Returns the record with which a runtime began, if it began with memory. */
async function beginningOf({ store }: Rows, row: RuntimeRow): Promise<RecordBase | null> {
  if (row.parent_id !== null)
    return { checkpointId: null, since: { type: 'fork', id: row.parent_id, name: null }, isRequired: false }
  if (row.snapshot_id === null) return null
  const snapshot = await store.db
    .selectFrom('snapshots')
    .select(['name', 'kind'])
    .where('project_id', '=', row.project_id)
    .where('snapshot_id', '=', row.snapshot_id)
    .executeTakeFirst()
  if (snapshot?.kind === 'filesystem') return null
  const since = { type: 'snapshot', id: row.snapshot_id, name: snapshot?.name ?? null } as const
  // A deleted snapshot of files has no record, and its image is the base.
  return { checkpointId: checkpointOf(row.snapshot_id), since, isRequired: false }
}

/** Returns the image below a runtime. A snapshot of files is an image, too. */
async function imageOf({ store }: Rows, row: RuntimeRow): Promise<ImageBase> {
  const digest = row.origin_image_digest ?? row.image_digest
  const snapshot = await store.db
    .selectFrom('snapshots')
    .selectAll()
    .where('project_id', '=', row.project_id)
    .where('kind', '=', 'filesystem')
    .where('image_digest', '=', digest)
    .orderBy('seq')
    .limit(1)
    .executeTakeFirst()
  if (snapshot !== undefined) return baseOf(snapshot)
  return {
    digest: digest as ImageDigest,
    since: { type: 'template', id: row.template_id, name: row.template_name },
  }
}

function baseOf({ image_digest, snapshot_id, name }: SnapshotRow): ImageBase {
  return { digest: image_digest as ImageDigest, since: { type: 'snapshot', id: snapshot_id, name } }
}

import type { ImageDigest } from '@holt/engine'
import { type FileDiff, HoltError } from '@holt/protocol'
import type { Foundation } from '../../foundation/foundation.ts'
import type { RuntimeRow, SnapshotRow } from '../../foundation/store/tables.ts'
import { findSnapshot, requireWritten } from '../../runtimes/snapshots/find-snapshot.ts'

/** The image that a runtime is compared with. */
export interface DiffBase {
  readonly digest: ImageDigest
  readonly since: FileDiff['since']
}

type Rows = Pick<Foundation, 'store'>

/** Returns the base of a diff: a snapshot of the runtime, or the image with which it began. */
export async function findDiffBase({ store }: Rows, row: RuntimeRow, since: string | undefined): Promise<DiffBase> {
  if (since === undefined) return beginningOf({ store }, row)
  const snapshot = await findSnapshot(store.db, { projectId: row.project_id, reference: since })
  requireWritten(snapshot)
  const shown = snapshot.name ?? snapshot.snapshot_id
  if (snapshot.kind !== 'filesystem')
    throw new HoltError('conflict', `The snapshot ${shown} is of the kind memory, and its files cannot be read.`, {
      hint: 'Take a snapshot of the kind filesystem, and compare with that.',
    })
  if (!isOfLine(snapshot, row))
    throw new HoltError('conflict', `The snapshot ${shown} is not of this runtime.`, {
      hint: 'Give a snapshot that was taken of this runtime, or leave out since.',
    })
  return baseOf(snapshot)
}

/**
 * Returns true if the runtime had the files of the snapshot once. A fork has those of its parent
 * until the fork.
 */
function isOfLine(snapshot: SnapshotRow, row: RuntimeRow): boolean {
  const isParents = snapshot.runtime_id === row.parent_id && snapshot.created_at < row.created_at
  return snapshot.runtime_id === row.runtime_id || isParents || snapshot.image_digest === row.image_digest
}

/** Returns the image with which a runtime began. A snapshot of files is an image, too. */
async function beginningOf({ store }: Rows, row: RuntimeRow): Promise<DiffBase> {
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

function baseOf({ image_digest, snapshot_id, name }: SnapshotRow): DiffBase {
  return { digest: image_digest as ImageDigest, since: { type: 'snapshot', id: snapshot_id, name } }
}

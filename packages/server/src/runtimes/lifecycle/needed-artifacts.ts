import type { ArtifactRef } from '@holt/engine'
import { artifactsOf } from '../../artifacts/artifacts.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'

/** The columns of a paused runtime that name what its resume needs. */
export type PausedColumns = Pick<RuntimeRow, 'image_digest' | 'origin_image_digest' | 'pause_checkpoint_id'>

/**
 * Returns what the resume of a paused runtime needs: its images, and the checkpoint of its memory.
 * The image of its source is for later comparisons of its files.
 */
export function neededArtifacts({
  image_digest: imageDigest,
  origin_image_digest: origin,
  pause_checkpoint_id: checkpointId,
}: PausedColumns): readonly ArtifactRef[] {
  const needed = artifactsOf({ imageDigest, checkpointId })
  return origin === null || origin === imageDigest
    ? needed
    : [...artifactsOf({ imageDigest: origin, checkpointId: null }), ...needed]
}

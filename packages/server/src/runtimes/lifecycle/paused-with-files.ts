import { failpoint } from '@holt/failpoints'
import { type RuntimeRef, refOf } from '../../foundation/rows/find-runtime.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'
import { advance } from './advance.ts'
import { isAway } from './settle-pausing.ts'

/** The time limit for the removal of a stored runtime, in milliseconds. */
const removeTimeoutMs = 60_000

/**
 * Changes a runtime whose files are a durable image to `paused`, without memory, and removes it
 * from the host. From the change on, the image has everything. The removal is repeated by the next
 * resume or start of the service if it fails.
 */
export async function becomePausedWithFiles(
  service: Runtimes,
  row: RuntimeRow,
  { imageDigest, from }: { readonly imageDigest: string; readonly from: 'pausing' | 'resuming' },
): Promise<RuntimeRow> {
  const ref = refOf(row)
  const paused = await advance(service, ref, {
    from,
    to: 'paused',
    set: {
      image_digest: imageDigest,
      origin_image_digest: row.origin_image_digest ?? row.image_digest,
      pause_checkpoint_id: null,
      near_host_id: null,
      paused_at: row.paused_at ?? service.now(),
      expires_at: null,
    },
  })
  await isAway(service, ref, paused)
  await failpoint('pause-files.paused')
  await removePaused(service, ref)
  // The image of an earlier pause is not needed any more.
  if (row.origin_image_digest !== null) service.collector.request()
  return paused
}

/** Removes a paused runtime from the host. A failure is logged, and the next resume repeats it. */
export async function removePaused({ engine, log }: Runtimes, { runtimeId }: RuntimeRef): Promise<void> {
  try {
    await engine.remove(runtimeId, AbortSignal.timeout(removeTimeoutMs))
  } catch (err) {
    log.error({ err, runtime_id: runtimeId }, 'a paused runtime could not be removed from the host yet')
  }
}

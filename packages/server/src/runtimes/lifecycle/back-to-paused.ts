import { findRuntime, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'
import type { Reason } from '../state/change-state.ts'
import { advance } from './advance.ts'

/** The time limit for the removal of a failed resume, in milliseconds. */
const removeTimeoutMs = 60_000

/**
 * Removes the parts of a `resuming` runtime whose resume failed, so that it is paused as before. A
 * runtime in another state stays as it is, because a change that reported an error may have been
 * made. Returns the resulting row. A runtime that belonged to no host before belongs to none again.
 */
export async function backToPaused(service: Runtimes, ref: RuntimeRef, reason: Reason): Promise<RuntimeRow> {
  const row = await findRuntime(service, ref)
  if (row.state !== 'resuming') return row
  await service.engine.remove(ref.runtimeId, AbortSignal.timeout(removeTimeoutMs))
  const set = row.near_host_id === null ? {} : { host_id: null, host_epoch: null }
  const paused = await advance(service, ref, { from: 'resuming', to: 'paused', reason, set })
  service.links.link(ref.runtimeId).setAway()
  await service.networks.sync(ref)
  return paused
}

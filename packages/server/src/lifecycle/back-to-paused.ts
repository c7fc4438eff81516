import type { Reason } from '../runtimes/change-state.ts'
import { findRuntime, type RuntimeRef } from '../runtimes/find-runtime.ts'
import type { Service } from '../service.ts'
import type { RuntimeRow } from '../store/tables.ts'
import { advance } from './advance.ts'

/** Time to remove what there is of a runtime that did not come back. */
const removeTimeoutMs = 60_000

/**
 * Takes away what there is of a `resuming` runtime that did not come back: it is paused as before.
 * One that is in another state is left as it is: a change whose error was seen may have been made.
 * Answers the row as it is then.
 */
export async function backToPaused(service: Service, ref: RuntimeRef, reason: Reason): Promise<RuntimeRow> {
  const row = await findRuntime(service, ref)
  if (row.state !== 'resuming') return row
  await service.engine.remove(ref.runtimeId, AbortSignal.timeout(removeTimeoutMs))
  const paused = await advance(service, ref, { from: 'resuming', to: 'paused', reason })
  service.links.gate(ref.runtimeId).setAway()
  await service.networks.sync(ref)
  return paused
}

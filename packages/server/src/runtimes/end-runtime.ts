import type { Service } from '../service.ts'
import type { RuntimeRow } from '../store/tables.ts'
import { changeState, type Reason } from './change-state.ts'
import { findRuntime, type RuntimeRef } from './find-runtime.ts'
import { hasEnded } from './states.ts'

/** Killing a runtime and detaching its disk takes a fraction of a second; past this the sweep tries again. */
const removeTimeoutMs = 60_000

/** Ends a runtime for good and answers when the engine has nothing of it. One that has ended is left as it is. */
export async function endRuntime(service: Service, ref: RuntimeRef, reason: Reason | null = null): Promise<void> {
  const row = await beginEnd(service, ref, reason)
  if (hasEnded(row.state)) return
  await service.starts.stop(ref.runtimeId)
  await service.networks.forget(ref)
  await service.engine.remove(ref.runtimeId, AbortSignal.timeout(removeTimeoutMs))
  await finishEnd(service, ref)
}

/** The row as `terminating`, or ended already. */
async function beginEnd(service: Service, ref: RuntimeRef, reason: Reason | null): Promise<RuntimeRow> {
  for (;;) {
    const row = await findRuntime(service, ref)
    if (hasEnded(row.state) || row.state === 'terminating') return row
    const changed = await changeState(service, row, { to: 'terminating', reason })
    if (changed !== null) return changed
  }
}

async function finishEnd(service: Service, ref: RuntimeRef): Promise<void> {
  for (;;) {
    const row = await findRuntime(service, ref)
    if (hasEnded(row.state) || (await changeState(service, row, { to: 'terminated' })) !== null) return
  }
}

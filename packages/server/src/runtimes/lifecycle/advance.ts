import type { RuntimeState } from '@holt/protocol'
import { isOwn, isUnowned, notOwn } from '../../foundation/host/require-own.ts'
import { findRuntime, notRunning, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { hasEnded } from '../../foundation/rows/states.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'
import { changeState, type StateChange } from '../state/change-state.ts'

/**
 * Moves a runtime to its next state, from a state that only a delete can interrupt. Throws the
 * error for its present state if it is no longer in that state.
 */
export async function advance(
  service: Runtimes,
  ref: RuntimeRef,
  { from, ...change }: StateChange & { readonly from: RuntimeState },
): Promise<RuntimeRow> {
  for (;;) {
    const row = await findRuntime(service, ref)
    // Another host may have taken a paused one meanwhile.
    if (!hasEnded(row.state) && !isUnowned(row) && !isOwn(service, row)) throw notOwn(service, row)
    if (row.state !== from) throw notRunning(row)
    const changed = await changeState(service, row, change)
    if (changed !== null) return changed
  }
}

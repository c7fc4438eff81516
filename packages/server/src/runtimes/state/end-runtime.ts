import { failpoint } from '@holt/failpoints'
import { isOwn, isUnowned, notOwn } from '../../foundation/host/require-own.ts'
import { findRuntime, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { hasEnded } from '../../foundation/rows/states.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'
import { changeState, type Reason } from './change-state.ts'
import { collectAfter } from './collect-after.ts'
import { dropCheckpoint } from './drop-checkpoint.ts'

/**
 * The time limit for a removal, in milliseconds. It takes a fraction of a second. Afterwards the
 * sweep tries again.
 */
const removeTimeoutMs = 60_000

/** The reason of an end, and a check that it is still wanted. */
export interface End {
  readonly reason: Reason
  /** Returns true if the runtime should still end. It is called with the current row. */
  readonly still: (row: RuntimeRow) => boolean
}

/**
 * Ends a runtime permanently. Resolves when the engine has removed it. An ended runtime is
 * unchanged.
 */
export async function endRuntime(service: Runtimes, ref: RuntimeRef, end: End | null = null): Promise<void> {
  const row = await beginEnd(service, ref, end)
  if (row.state !== 'terminating') return
  await failpoint('delete.terminating')
  await service.starts.stop(ref.runtimeId)
  await service.transitions.stop(ref.runtimeId)
  await failpoint('delete.stopped')
  await service.networks.forget(ref)
  await failpoint('delete.forgotten')
  await service.engine.remove(ref.runtimeId, AbortSignal.timeout(removeTimeoutMs))
  await failpoint('delete.removed')
  await finishEnd(service, ref)
  await failpoint('delete.terminated')
  service.links.forget(ref.runtimeId)
  if (row.pause_checkpoint_id !== null) void dropCheckpoint(service, row.pause_checkpoint_id)
  void collectAfter(service, row)
}

/**
 * Returns the row: `terminating`, already ended, or unchanged if it should no longer end. Stores
 * the wish and throws if another host has the runtime.
 */
async function beginEnd(service: Runtimes, ref: RuntimeRef, end: End | null): Promise<RuntimeRow> {
  for (;;) {
    const row = await findRuntime(service, ref)
    if (hasEnded(row.state)) return row
    if (row.state === 'terminating' && !isOwn(service, row)) throw notOwn(service, row)
    if (row.state === 'terminating') return row
    if (end?.still(row) === false) return row
    const isWish = !isOwn(service, row) && !isUnowned(row)
    // The host of the runtime ends it when it is back, or there is a verdict against it.
    const changed = await changeState(service, row, { to: 'terminating', reason: end?.reason ?? null, isWish })
    if (changed !== null && isWish) throw notOwn(service, changed)
    if (changed !== null) return changed
  }
}

async function finishEnd(service: Runtimes, ref: RuntimeRef): Promise<void> {
  for (;;) {
    const row = await findRuntime(service, ref)
    if (hasEnded(row.state) || (await changeState(service, row, { to: 'terminated' })) !== null) return
  }
}

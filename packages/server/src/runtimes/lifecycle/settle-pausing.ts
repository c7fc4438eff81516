import { failpoint } from '@holt/failpoints'
import { GuestClient } from '@holt/guest-client'
import { findRuntime, notRunning, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'
import type { Reason } from '../state/change-state.ts'
import { dropCheckpoint } from '../state/drop-checkpoint.ts'
import { failRuntime, reasonOf } from '../state/fail-runtime.ts'
import { advance } from './advance.ts'

/** The time limit for the removal of a stored runtime, in milliseconds. */
const removeTimeoutMs = 60_000

/** The time for a running guest to connect, in milliseconds. */
const answerTimeoutMs = 5_000

/** The reason for a paused runtime whose checkpoint this host cannot restore. */
const unusable = {
  incompatible: { code: 'snapshot_incompatible', message: 'It was written by another engine or on another CPU.' },
  damaged: { code: 'snapshot_damaged', message: 'Its files have changed since they were written.' },
} as const satisfies Record<string, Reason>

/**
 * Changes a `pausing` runtime with a durable checkpoint to `paused`, and releases its resources on
 * the host. The default reason is that of its pause.
 */
export async function becomePaused(
  service: Runtimes,
  ref: RuntimeRef,
  reason: Reason | null = null,
): Promise<RuntimeRow> {
  await service.engine.remove(ref.runtimeId, AbortSignal.timeout(removeTimeoutMs))
  await failpoint('pause.removed')
  const set = { paused_at: service.now(), expires_at: null }
  const row = await advance(service, ref, { from: 'pausing', to: 'paused', reason, set })
  await failpoint('pause.paused')
  return isAway(service, ref, row)
}

/**
 * Prepares for a row that says `paused`: requests resume the runtime, and its way out is closed.
 */
export async function isAway({ links, networks }: Runtimes, ref: RuntimeRef, row: RuntimeRow): Promise<RuntimeRow> {
  links.link(ref.runtimeId).setAway()
  await networks.sync(ref)
  return row
}

/**
 * Determines the result of a failed or interrupted pause. The runtime continues if it still runs.
 * It is paused if only its checkpoint exists, even if this host cannot restore it. Without both, it
 * has failed. Returns the resulting row.
 */
export async function settlePausing(service: Runtimes, ref: RuntimeRef): Promise<RuntimeRow> {
  const row = await findRuntime(service, ref)
  if (row.state === 'paused') return isAway(service, ref, row)
  if (row.state !== 'pausing') throw notRunning(row)
  const { engine } = service
  const checkpointId = row.pause_checkpoint_id
  const observed = await engine.inspect(ref.runtimeId)
  const ending = observed?.ending ?? null
  const mayRun = observed !== null && ending === null
  if (mayRun && observed.frozen) await thaw(service, ref.runtimeId)
  if (mayRun && (await answers(service, ref.runtimeId))) return continueRunning(service, ref, checkpointId)
  // A pause of the files alone is undone until its row is `paused`.
  const usability =
    checkpointId === null ? undefined : await engine.ability('checkpoints')?.usable(checkpointId, { restoreOnly: true })
  if (usability?.usable === true) return becomePaused(service, ref)
  if (mayRun) return continueRunning(service, ref, checkpointId)
  // It may be restored again by the engine, or on the host, that wrote it.
  if (usability !== undefined && usability.problem !== 'absent')
    return becomePaused(service, ref, unusable[usability.problem])
  const message = 'The runtime ended while it was paused, before all of it was stored.'
  await failRuntime(service, row, ending === null ? { code: 'lost', message } : reasonOf(ending))
  throw notRunning(await findRuntime(service, ref))
}

/**
 * Thaws the runtime, because a crash may have come before the pause did, and a frozen guest does
 * not answer.
 */
async function thaw({ links }: Runtimes, runtimeId: string): Promise<void> {
  const link = links.link(runtimeId)
  link.noteFrozen()
  await link.thaw()
}

async function answers({ engine }: Runtimes, runtimeId: string): Promise<boolean> {
  const signal = AbortSignal.timeout(answerTimeoutMs)
  try {
    await new GuestClient(await engine.dial(runtimeId, signal)).info(signal)
    return true
  } catch {
    return false // It may have been written down and ended, which its checkpoint tells.
  }
}

async function continueRunning(service: Runtimes, ref: RuntimeRef, checkpointId: string | null): Promise<RuntimeRow> {
  const row = await advance(service, ref, { from: 'pausing', to: 'running', set: { pause_checkpoint_id: null } })
  await service.networks.sync(ref)
  if (checkpointId !== null) void dropCheckpoint(service, checkpointId)
  return row
}

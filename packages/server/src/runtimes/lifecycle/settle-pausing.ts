import { failpoint, GuestClient } from '@holt/engine'
import { findRuntime, notRunning, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'
import type { Reason } from '../state/change-state.ts'
import { dropCheckpoint } from '../state/drop-checkpoint.ts'
import { failRuntime, reasonOf } from '../state/fail-runtime.ts'
import { advance } from './advance.ts'

/** Time to remove what is left of a runtime that was written down. */
const removeTimeoutMs = 60_000

/** A guest that runs dials in this time. */
const answerTimeoutMs = 5_000

/** Why a runtime is paused whose checkpoint cannot be restored as things are. */
const unusable = {
  incompatible: { code: 'snapshot_incompatible', message: 'It was written by another engine or on another CPU.' },
  damaged: { code: 'snapshot_damaged', message: 'Its files have changed since they were written.' },
} as const satisfies Record<string, Reason>

/**
 * Makes a `pausing` runtime whose checkpoint is durable a paused one, and gives back what it has of
 * the machine. Without a reason it has that of its pause.
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
async function isAway({ links, networks }: Runtimes, ref: RuntimeRef, row: RuntimeRow): Promise<RuntimeRow> {
  links.gate(ref.runtimeId).setAway()
  await networks.sync(ref)
  return row
}

/**
 * Finds out what became of a `pausing` runtime whose pause failed or was cut off by the end of the
 * service: it goes on where it runs, is paused where it is gone and its checkpoint is there,
 * whether or not this host can restore that, and has failed where there is neither. Answers the row
 * as it is then.
 */
export async function settlePausing(service: Runtimes, ref: RuntimeRef): Promise<RuntimeRow> {
  const row = await findRuntime(service, ref)
  if (row.state === 'paused') return isAway(service, ref, row)
  if (row.state !== 'pausing') throw notRunning(row)
  const { engine } = service
  const checkpointId = row.pause_checkpoint_id ?? ''
  const observed = await engine.inspect(ref.runtimeId)
  const ending = observed?.ending ?? null
  const mayRun = observed !== null && ending === null
  if (mayRun && observed.frozen) await thaw(service, ref.runtimeId)
  if (mayRun && (await answers(service, ref.runtimeId))) return goOn(service, ref, checkpointId)
  const usability = await engine.ability('checkpoints')?.usable(checkpointId, { restoreOnly: true })
  if (usability?.usable === true) return becomePaused(service, ref)
  if (mayRun) return goOn(service, ref, checkpointId)
  // It may be restored again by the engine, or on the host, that wrote it.
  if (usability !== undefined && usability.problem !== 'absent')
    return becomePaused(service, ref, unusable[usability.problem])
  const message = 'The runtime ended while it was paused, and its checkpoint is missing.'
  await failRuntime(service, row, ending === null ? { code: 'lost', message } : reasonOf(ending))
  throw notRunning(await findRuntime(service, ref))
}

/** A crash may have come before the pause thawed it, and whoever is frozen answers nobody. */
async function thaw({ links }: Runtimes, runtimeId: string): Promise<void> {
  const gate = links.gate(runtimeId)
  gate.noteFrozen()
  await gate.thaw()
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

async function goOn(service: Runtimes, ref: RuntimeRef, checkpointId: string): Promise<RuntimeRow> {
  const row = await advance(service, ref, { from: 'pausing', to: 'running', set: { pause_checkpoint_id: null } })
  await service.networks.sync(ref)
  void dropCheckpoint(service, checkpointId)
  return row
}

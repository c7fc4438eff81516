import { findRuntime, type RuntimeRef, refOf } from '../../foundation/rows/find-runtime.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { pauseReasons, pauseRuntime } from '../../runtimes/lifecycle/pause-runtime.ts'
import { resumeRuntime } from '../../runtimes/lifecycle/resume-runtime.ts'
import type { Runtimes } from '../../runtimes/runtimes.ts'
import { type Released, release } from './release.ts'

/** The time limit for the upload of a runtime, in milliseconds. Its requests wait for it. */
const storeTimeoutMs = 600_000

/** Lets another host resume a paused runtime that belongs to none. Never rejects. */
export type ResumeElsewhere = (ref: RuntimeRef) => Promise<void>

/** A runtime could not be paused, so it cannot leave its host. `cause` has the reason. */
export class PauseFailed extends Error {
  override readonly name = 'PauseFailed'
}

/** The conditions of a move. */
interface Move {
  /** Returns true if the runtime should still leave. */
  readonly still: (row: RuntimeRow) => boolean
  readonly resumeElsewhere: ResumeElsewhere
}

/**
 * Moves a running runtime away: pauses it, stores it, lets it belong to no host, and asks another
 * host to resume it. Requests that arrive meanwhile wait. A runtime that nothing uses stays paused,
 * unless requests may not resume it. If it cannot be stored, it goes on here. Throws `PauseFailed`
 * if it cannot be paused.
 */
export async function moveAway(service: Runtimes, before: RuntimeRow, { still, resumeElsewhere }: Move): Promise<void> {
  const { leaving, links, closing } = service
  const ref = refOf(before)
  const link = links.link(ref.runtimeId)
  const isUsed = link.open > 0 || !link.frozen || before.auto_resume === 0
  const move = async () => {
    const row = await pauseRuntime(service, ref, pauseReasons.move, still).catch((cause: unknown) => {
      throw new PauseFailed('the runtime could not be paused', { cause })
    })
    if (row.state !== 'paused' || !still(row)) return 'changed'
    const signal = AbortSignal.any([closing, AbortSignal.timeout(storeTimeoutMs)])
    // The time of a runtime that nothing uses stops, as at any pause.
    return release(service, row, { signal, expiresAt: isUsed ? before.expires_at : null })
  }
  let end: Released = 'unstored'
  try {
    end = await leaving.during(ref.runtimeId, move)
  } finally {
    // Its programs do not wait for the object store.
    if (end === 'unstored' && isUsed && !closing.aborted) await resumeHere(service, ref)
  }
  if (end === 'unstored') throw new Error('the fleet has no object store, so the runtime cannot leave its host')
  if (end === 'released' && isUsed) await resumeElsewhere(ref)
}

async function resumeHere(service: Runtimes, ref: RuntimeRef): Promise<void> {
  const { state } = await findRuntime(service, ref)
  if (state === 'paused') await resumeRuntime(service, ref)
}

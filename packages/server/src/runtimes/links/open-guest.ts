import { GuestClient } from '@holt/engine'
import { isEngineError } from '../../foundation/errors/engine-errors.ts'
import { findRuntime, notRunning, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { within } from '../../foundation/wire/call.ts'
import { findAwake } from '../lifecycle/wake.ts'
import type { Runtimes } from '../runtimes.ts'

/**
 * A guest that runs answers at once; one that is written down meanwhile, or brought back, takes as
 * long as its memory is large.
 */
const openTimeoutMs = 300_000

/** A running runtime and the way into it. */
export interface OpenRuntime {
  readonly row: RuntimeRow
  readonly guest: GuestClient
}

/** For whom the way into a runtime is opened. */
interface Opener {
  /** Ends when nobody waits for it any more. */
  readonly gone: AbortSignal
  /** Returns the id under which a change inside is done only once. */
  readonly operation?: () => string | null
}

/** Opens the way into a project's runtime, which comes back for that where it is paused. */
export async function openGuest(
  service: Runtimes,
  ref: RuntimeRef,
  { gone, operation = () => null }: Opener,
): Promise<OpenRuntime> {
  const row = await findAwake(service, ref, gone)
  try {
    const link = await service.links.dial(row.runtime_id, within({ gone }, openTimeoutMs))
    return { row, guest: new GuestClient(link, { operation }) }
  } catch (error) {
    const now = isEngineError(error) ? await findRuntime(service, ref) : row
    throw now.state === 'running' ? error : notRunning(now)
  }
}

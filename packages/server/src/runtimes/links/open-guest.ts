import { GuestClient } from '@holt/guest-client'
import { isEngineError } from '../../foundation/errors/engine-errors.ts'
import { findRuntime, notRunning, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { within } from '../../foundation/wire/call.ts'
import { findAwake } from '../lifecycle/wake.ts'
import type { Runtimes } from '../runtimes.ts'
import type { RuntimeLink } from './runtime-link.ts'

/**
 * The time to open a runtime, in milliseconds. A running guest answers at once. A checkpoint or a
 * resume takes longer for more memory.
 */
const openTimeoutMs = 300_000

/** A running runtime, the client for its guest, and the link to it. */
export interface OpenRuntime {
  readonly row: RuntimeRow
  readonly guest: GuestClient
  readonly link: RuntimeLink
}

/** The caller for whom a runtime is opened. */
interface Opener {
  /** Aborted when nobody waits any more. */
  readonly gone: AbortSignal
  /** Returns the id under which a change inside is done only once. */
  readonly operation?: () => string | null
}

/** Returns the client for the guest of a project's runtime. Resumes a paused runtime. */
export async function openGuest(
  service: Runtimes,
  ref: RuntimeRef,
  { gone, operation = () => null }: Opener,
): Promise<OpenRuntime> {
  const row = await findAwake(service, ref, gone)
  try {
    const link = await service.links.dial(row.runtime_id, within({ gone }, openTimeoutMs))
    return { row, guest: new GuestClient(link, { operation }), link }
  } catch (error) {
    const now = isEngineError(error) ? await findRuntime(service, ref) : row
    throw now.state === 'running' ? error : notRunning(now)
  }
}

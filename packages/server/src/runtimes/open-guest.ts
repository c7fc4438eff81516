import { GuestClient } from '@holt/engine'
import { isEngineError } from '../engine-errors.ts'
import { findAwake } from '../lifecycle/wake.ts'
import type { Service } from '../service.ts'
import type { RuntimeRow } from '../store/tables.ts'
import { findRuntime, notRunning, type RuntimeRef } from './find-runtime.ts'

/** A guest that runs answers at once; one that is written down meanwhile, or brought back, takes as long as its memory is large. */
const openTimeoutMs = 300_000

/** A running runtime and the way into it. */
export interface OpenRuntime {
  readonly row: RuntimeRow
  readonly guest: GuestClient
}

/** Opens the way into a project's runtime, which comes back for that where it is paused. What changes something inside is done once for each `operation`. */
export async function openGuest(
  service: Service,
  ref: RuntimeRef,
  { operation = () => null }: { readonly operation?: () => string | null } = {},
): Promise<OpenRuntime> {
  const row = await findAwake(service, ref)
  try {
    const link = await service.links.dial(row.runtime_id, AbortSignal.timeout(openTimeoutMs))
    return { row, guest: new GuestClient(link, { operation }) }
  } catch (error) {
    const now = isEngineError(error) ? await findRuntime(service, ref) : row
    throw now.state === 'running' ? error : notRunning(now)
  }
}

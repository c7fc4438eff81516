import { GuestClient } from '@holt/engine'
import { isEngineError } from '../engine-errors.ts'
import type { Service } from '../service.ts'
import type { RuntimeRow } from '../store/tables.ts'
import { findRunning, findRuntime, notRunning, type RuntimeRef } from './find-runtime.ts'

/** A guest that runs answers the dial at once, or after the pause between two of its own dials. */
const dialTimeoutMs = 10_000

/** A running runtime and the way into it. */
export interface OpenRuntime {
  readonly row: RuntimeRow
  readonly guest: GuestClient
}

/** Opens the way into a project's running runtime. */
export async function openGuest(service: Service, ref: RuntimeRef): Promise<OpenRuntime> {
  const row = await findRunning(service, ref)
  try {
    return {
      row,
      guest: new GuestClient(await service.engine.dial(row.runtime_id, AbortSignal.timeout(dialTimeoutMs))),
    }
  } catch (error) {
    const now = isEngineError(error) ? await findRuntime(service, ref) : row
    throw now.state === 'running' ? error : notRunning(now)
  }
}

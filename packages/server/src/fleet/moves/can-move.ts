import { HoltError } from '@holt/protocol'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../../runtimes/runtimes.ts'
import { requireCheckpoints } from '../../runtimes/state/can-pause.ts'

/** The time before its end in which a runtime is not moved, in milliseconds. */
const lastMs = 60_000

/**
 * Returns true if a running runtime can move to another host: its memory can be stored, and it does
 * not end by itself within a minute.
 */
export async function canMove(service: Runtimes, row: RuntimeRow): Promise<boolean> {
  if (row.on_timeout === 'terminate' && row.expires_at !== null && row.expires_at - service.now() < lastMs) return false
  try {
    await requireCheckpoints(service, row)
    return true
  } catch (error) {
    if (error instanceof HoltError && error.status < 503) return false
    throw error
  }
}

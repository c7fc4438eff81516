import type { OnTimeout } from '@holt/protocol'
import type { Api } from '../../api/api.ts'
import type { RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { changeSettings } from '../../runtimes/state/change-settings.ts'
import { expiresAt } from '../../runtimes/state/deadline.ts'

/** A new life, counted from now. */
interface NewDeadline {
  readonly timeoutSecs: number
  /** True if the present end stays where it is later. */
  readonly onlyLonger: boolean
  /** The action at its end. Absent: no change. */
  readonly onTimeout?: OnTimeout | undefined
}

/**
 * Sets the end of a runtime. For a paused one, the life counts from its resume. A life of 0 ends it
 * at once, and leaves the life of a later resume as it is.
 */
export async function setDeadline(
  service: Api,
  ref: RuntimeRef,
  { timeoutSecs, onlyLonger, onTimeout }: NewDeadline,
): Promise<RuntimeRow> {
  const end = onTimeout === undefined ? {} : { on_timeout: onTimeout }
  const data = { changed: ['timeout_secs', ...Object.keys(end)] }
  return changeSettings(service, ref, (row, at) => ({
    set: { ...columnsOf(row, at), ...end },
    type: 'runtime.updated',
    data,
  }))

  function columnsOf({ state, timeout_secs, expires_at }: RuntimeRow, at: number) {
    if (state === 'paused') return { timeout_secs: timeoutSecs }
    const end = expiresAt(timeoutSecs, at)
    const stays = onlyLonger && (expires_at === null || expires_at >= (end ?? 0))
    if (stays) return { timeout_secs }
    return { expires_at: end, ...(timeoutSecs > 0 ? { timeout_secs: timeoutSecs } : {}) }
  }
}

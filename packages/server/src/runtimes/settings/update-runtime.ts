import { Metadata, type UpdateRuntime } from '@holt/protocol'
import { findRuntime, notRunning, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { isAlive } from '../../foundation/rows/states.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { invalidField } from '../../foundation/wire/field-issues.ts'
import type { Runtimes } from '../runtimes.ts'
import { canPause } from '../state/can-pause.ts'
import { changeSettings, type SettingsChange } from '../state/change-settings.ts'
import { expiresAt, requireNoPause } from '../state/deadline.ts'

/**
 * Changes a runtime's labels or deadline. A deadline counts from now, and that of a paused runtime
 * from its resume.
 */
export async function updateRuntime(service: Runtimes, ref: RuntimeRef, change: UpdateRuntime): Promise<RuntimeRow> {
  const row = await findRuntime(service, ref)
  if (!isAlive(row.state)) throw notRunning(row)
  // Asked before the transaction, because the engine answers it. The class of a runtime and its
  // secrets never change.
  if (!(await canPause(service, row))) requireNoPause(change)
  return changeSettings(service, ref, (current, at) => ({
    set: columnsOf(change, { current, at }),
    type: 'runtime.updated',
    data: { changed: Object.keys(change).map((field) => (field === 'metadata_patch' ? 'metadata' : field)) },
  }))
}

/** Returns the changed columns. The time of a paused runtime does not run. */
function columnsOf(
  change: UpdateRuntime,
  { current, at }: { readonly current: RuntimeRow; readonly at: number },
): SettingsChange['set'] {
  const counts = current.state !== 'paused'
  const metadata = change.metadata ?? patched(current, change.metadata_patch)
  const { timeout_secs, on_timeout, idle_timeout_secs, auto_resume } = change
  return {
    ...(metadata === undefined ? {} : { metadata_json: JSON.stringify(metadata) }),
    ...(timeout_secs === undefined ? {} : { timeout_secs }),
    ...(timeout_secs === undefined ? {} : { expires_at: counts ? expiresAt(timeout_secs, at) : null }),
    ...(on_timeout === undefined ? {} : { on_timeout }),
    ...(idle_timeout_secs === undefined ? {} : { idle_timeout_secs }),
    ...(auto_resume === undefined ? {} : { auto_resume: auto_resume ? 1 : 0 }),
  }
}

/** Returns the labels after a merge patch. Undefined: there is none. */
function patched({ metadata_json }: RuntimeRow, patch: UpdateRuntime['metadata_patch']): Metadata | undefined {
  if (patch === undefined) return undefined
  const labels = Object.entries({ ...JSON.parse(metadata_json), ...patch }).filter(([, value]) => value !== null)
  const merged = Metadata.safeParse(Object.fromEntries(labels))
  if (merged.success) return merged.data
  throw invalidField('/metadata_patch', merged.error.issues[0]?.message ?? 'makes labels that are not valid')
}

import { isUnowned } from '../../foundation/host/require-own.ts'
import { findRuntime } from '../../foundation/rows/find-runtime.ts'
import type { Owned } from '../../foundation/wire/forwarder.ts'
import { isRefusal } from '../../foundation/wire/placed-refusals.ts'
import { takePaused } from '../../runtimes/lifecycle/take-paused.ts'
import type { Runtimes } from '../../runtimes/runtimes.ts'

/**
 * Lets this host take a paused runtime that belongs to none, if a request may resume it. Resolves
 * when the row tells who has it, with false if this host takes none. Throws the refusal if this
 * host has no room. Another failure is told by the request's handler, which tries again.
 */
export async function takeFor(service: Runtimes, { type, projectId, id, wakes }: Owned): Promise<boolean> {
  if (type !== 'runtime' || wakes === undefined) return true
  const ref = { projectId, runtimeId: id }
  try {
    const row = await findRuntime(service, ref)
    if (!isUnowned(row) || (wakes === 'request' && row.auto_resume === 0)) return true
    if (service.leaving.isDraining) return false
    await takePaused(service, ref)
  } catch (err) {
    if (isRefusal(err)) throw err
    service.log.debug({ err, runtime_id: id }, 'a paused runtime was not taken')
  }
  return true
}

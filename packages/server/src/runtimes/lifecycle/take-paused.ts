import { isUnowned } from '../../foundation/host/require-own.ts'
import { findRuntime, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { isRefusal } from '../../foundation/wire/placed-refusals.ts'
import type { Runtimes } from '../runtimes.ts'
import { resumeRuntime } from './resume-runtime.ts'

/**
 * Begins the resume of a paused runtime that belongs to no host. Resolves when this host has taken
 * it, when another host was quicker, or when the resume fails. The row tells which. The resume
 * continues afterwards, and requests join it. Throws the refusal if this host has no room.
 */
export async function takePaused(service: Runtimes, ref: RuntimeRef): Promise<void> {
  if (service.leaving.isDraining || !isUnowned(await findRuntime(service, ref))) return
  await new Promise<void>((resolve, reject) => {
    resumeRuntime(service, ref, resolve).then(
      () => resolve(),
      (err: unknown) => {
        if (isRefusal(err)) return reject(err)
        service.log.debug({ err, runtime_id: ref.runtimeId }, 'a paused runtime was not taken')
        resolve()
      },
    )
  })
}

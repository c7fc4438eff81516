import { Waiters } from '@holt/engine'
import { HoltError } from '@holt/protocol'
import { findRuntime, notRunning, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'
import { recoverPause } from './recover-pause.ts'
import { resumeRuntime } from './resume-runtime.ts'

/**
 * A project's runtime that runs: one that is paused is brought back where it may be, one that is on
 * its way out or back is waited for. Throws `runtime_paused` where it may not, and what it is where
 * it has ended or never ran. Whoever is `gone` waits no longer; what was begun goes on.
 */
export async function findAwake(service: Runtimes, ref: RuntimeRef, gone: AbortSignal): Promise<RuntimeRow> {
  for (;;) {
    const row = await findRuntime(service, ref)
    if (row.state === 'running') return row
    if (row.state === 'paused' && row.auto_resume === 0)
      throw new HoltError('runtime_paused', 'The runtime is paused, and requests do not resume it.', {
        details: { runtime_id: row.runtime_id, state: row.state },
      })
    const underWay = row.state === 'pausing' || row.state === 'resuming'
    if (row.state === 'paused' || (row.state === 'resuming' && row.auto_resume === 1))
      await waitFor(resumeRuntime(service, ref), gone)
    else if (underWay && service.transitions.has(ref.runtimeId))
      await waitFor(service.transitions.settled(ref.runtimeId), gone)
    else if (underWay) await waitFor(recoverPause(service, row), gone)
    else throw notRunning(row)
  }
}

/** Brings a runtime back for a request over a link from before its pause. */
export async function wakeById(service: Runtimes, runtimeId: string): Promise<void> {
  const { project_id: projectId } = await service.store.db
    .selectFrom('runtimes')
    .select('project_id')
    .where('runtime_id', '=', runtimeId)
    .executeTakeFirstOrThrow()
  await findAwake(service, { projectId, runtimeId }, service.closing)
  await service.transitions.settled(runtimeId)
}

/** Waits for work that goes on also when nobody waits for it any more. */
async function waitFor(work: Promise<unknown>, gone: AbortSignal): Promise<void> {
  const waiters = new Waiters()
  waiters.follow(work)
  await waiters.wait(gone)
}

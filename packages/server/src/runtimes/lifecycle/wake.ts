import { Waiters } from '@holt/async'
import { HoltError } from '@holt/protocol'
import { isUnowned, notOwn, requireOwn } from '../../foundation/host/require-own.ts'
import { findRuntime, notRunning, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { hasEnded } from '../../foundation/rows/states.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { Runtimes } from '../runtimes.ts'
import { recoverPause } from './recover-pause.ts'
import { resumeRuntime } from './resume-runtime.ts'

/**
 * Returns a project's runtime when it runs. Resumes a paused one if that is allowed, and waits for
 * a transition in progress. Throws `runtime_paused` if a resume is not allowed, and the error for
 * its state if it has ended or never ran. `gone` ends the wait, but not the resume. Throws
 * `unavailable` if another host has the runtime, or shall have it.
 */
export async function findAwake(service: Runtimes, ref: RuntimeRef, gone: AbortSignal): Promise<RuntimeRow> {
  for (;;) {
    const row = await findRuntime(service, ref)
    const belongsToNone = isUnowned(row)
    if (!hasEnded(row.state) && !belongsToNone) requireOwn(service, row)
    if (row.state === 'running') return row
    const leaves = service.leaving.of(ref.runtimeId)
    if (leaves !== null) {
      await waitFor(
        leaves.catch(() => {}),
        gone,
      )
      continue
    }
    if (row.state === 'paused' && row.auto_resume === 0)
      throw new HoltError('runtime_paused', 'The runtime is paused, and requests do not resume it.', {
        details: { runtime_id: row.runtime_id, state: row.state },
      })
    // The entry finds a host that may take it.
    if (belongsToNone && service.leaving.isDraining) throw notOwn(service, row)
    const underWay = row.state === 'pausing' || row.state === 'resuming'
    if (row.state === 'paused' || (row.state === 'resuming' && row.auto_resume === 1))
      await waitFor(resumeRuntime(service, ref), gone)
    else if (underWay && service.transitions.has(ref.runtimeId))
      await waitFor(service.transitions.settled(ref.runtimeId), gone)
    else if (underWay) await waitFor(recoverPause(service, row), gone)
    else throw notRunning(row)
  }
}

/** Resumes a runtime for a request on a link from before its pause. */
export async function wakeById(service: Runtimes, runtimeId: string): Promise<void> {
  const { project_id: projectId } = await service.store.db
    .selectFrom('runtimes')
    .select('project_id')
    .where('runtime_id', '=', runtimeId)
    .executeTakeFirstOrThrow()
  await findAwake(service, { projectId, runtimeId }, service.closing)
  await service.transitions.settled(runtimeId)
}

/** Waits for work, which continues if the wait is aborted. */
async function waitFor(work: Promise<unknown>, gone: AbortSignal): Promise<void> {
  const waiters = new Waiters()
  waiters.follow(work)
  await waiters.wait(gone)
}

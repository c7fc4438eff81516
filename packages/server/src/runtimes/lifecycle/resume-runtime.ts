import { failpoint } from '@holt/failpoints'
import { HoltError } from '@holt/protocol'
import { fromEngineError, isEngineError, isTimeout } from '../../foundation/errors/engine-errors.ts'
import { findRuntime, notRunning, type RuntimeRef, refOf } from '../../foundation/rows/find-runtime.ts'
import { isDeleted } from '../../foundation/rows/states.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { secretValues } from '../../resources/secrets/secret-env.ts'
import { startCommands } from '../../resources/templates/template-commands.ts'
import { requireQuotas } from '../../tenancy/projects/require-quotas.ts'
import { admit } from '../admission/admit.ts'
import { promisedMiB } from '../admission/promised.ts'
import { bindRuntime } from '../create/bind-runtime.ts'
import { broughtBackMiB } from '../create/restores-under-way.ts'
import { specOf } from '../create/start-runtime.ts'
import type { Runtimes } from '../runtimes.ts'
import type { Reason } from '../state/change-state.ts'
import { expiresAt } from '../state/deadline.ts'
import { dropCheckpoint } from '../state/drop-checkpoint.ts'
import { sourceSettingsOf } from '../state/source-settings.ts'
import { advance } from './advance.ts'
import { backToPaused } from './back-to-paused.ts'
import { neededArtifacts, type PausedColumns } from './needed-artifacts.ts'
import { finished, interrupted } from './recover-pause.ts'

/**
 * The time limit of a resume, in milliseconds. It reads memory and files from the disk, and
 * `on_restore` can take a minute.
 */
const resumeTimeoutMs = 300_000

/** The time limit for the removal of an earlier resume, in milliseconds. */
const removeTimeoutMs = 60_000

/**
 * Resumes a paused runtime in its stored state, under the same id. One whose pause has kept the
 * files alone boots. A running runtime is unchanged, and a concurrent resume is joined. On failure
 * the runtime stays paused with the reason, and loses nothing. If only `on_restore` fails, the
 * runtime runs and has the reason. `onAdmitted` is called when the runtime is `resuming` on this
 * host, unless a resume is joined.
 */
export async function resumeRuntime(
  service: Runtimes,
  ref: RuntimeRef,
  onAdmitted: () => void = () => {},
): Promise<RuntimeRow> {
  const now = await findRuntime(service, ref)
  if (now.state === 'running') return now
  return service.transitions.run(ref.runtimeId, 'resume', async (stopped) => {
    const row = await finished(service, ref)
    if (row.state === 'running') return row
    if (row.state !== 'paused') throw notRunning(row)
    if (service.closing.aborted) throw closes()
    try {
      const resuming = await admitBack(service, row)
      onAdmitted()
      return await bringBack(service, resuming, stopped)
    } finally {
      service.restores.end(ref.runtimeId)
    }
  })
}

async function bringBack(service: Runtimes, resuming: RuntimeRow, stopped: AbortSignal): Promise<RuntimeRow> {
  const { pause_checkpoint_id: checkpointId } = resuming
  const ref = refOf(resuming)
  try {
    await failpoint('resume.resuming')
    const reason = await restore(service, resuming, stopped)
    const running = await becomeRunning(service, ref, reason)
    await failpoint('resume.running')
    if (checkpointId !== null) {
      service.restores.forget(checkpointId)
      void dropCheckpoint(service, checkpointId)
    }
    return running
  } catch (error) {
    return await giveUpResume(service, ref, { error, stopped })
  } finally {
    // After whatever went wrong with it: a row that says `running` lets requests in.
    if ((await findRuntime(service, ref)).state === 'running') service.links.link(ref.runtimeId).setBack()
  }
}

/** Makes a paused runtime `resuming`, if the host and the quotas admit it like a new one. */
export async function admitBack(service: Runtimes, row: RuntimeRow): Promise<RuntimeRow> {
  const require = await admission(service, row)
  return service.arrivals.during(row.runtime_id, () =>
    advance(service, refOf(row), { from: 'paused', to: 'resuming', require }),
  )
}

/** Returns the check that admits a paused runtime like a new one, because it has no memory. */
async function admission(service: Runtimes, row: RuntimeRow): Promise<(changes: Queries) => Promise<void>> {
  const { store, engine, freeMemoryMiB, starts, restores, arrivals, transitions, config, thisHost } = service
  const { runtime_id, project_id: projectId, cpu, memory_mib } = row
  const [facts, free] = await Promise.all([engine.describe(), freeMemoryMiB()])
  const broughtBack = await writtenMiB(service, row)
  return async (changes) => {
    await requireQuotas(service, changes, { projectId, adds: { runtimes: 1, cpu, memory_mib } })
    // Before the check: a change of another project may check meanwhile.
    restores.begin(runtime_id, broughtBack)
    admit({
      hostMemoryMiB: facts.memoryMiB,
      diskFreeMiB: facts.diskFreeMiB,
      freeMemoryMiB: free,
      promisedMiB: await promisedMiB(changes, thisHost, arrivals.begin(store, runtime_id, memory_mib)),
      // It is one of those that are coming back itself.
      starting: starts.size + transitions.resuming - 1,
      overcommit: config.memoryOvercommit,
      reserve: config.reserve,
      memoryMiB: memory_mib,
      isBack: true,
      broughtBackMiB: broughtBack,
      arrivingMiB: restores.memoryMiB(runtime_id),
    })
  }
}

/**
 * Returns the size of the stored memory in MiB. A pause of this process has cached it. Otherwise it
 * is read once.
 */
async function writtenMiB(
  { engine, restores }: Runtimes,
  { pause_checkpoint_id, memory_mib }: RuntimeRow,
): Promise<number> {
  const id = pause_checkpoint_id ?? ''
  if (restores.bytesOf(id) === null)
    for (const info of (await engine.ability('checkpoints')?.list()) ?? []) restores.note(info)
  return broughtBackMiB(restores.bytesOf(id), memory_mib)
}

/** Restores the runtime. Returns a reason to store, or null if there is none. */
async function restore(service: Runtimes, row: RuntimeRow, stopped: AbortSignal): Promise<Reason | null> {
  const { engine, networks } = service
  const { runtime_id: runtimeId, project_id: projectId, pause_checkpoint_id: checkpointId } = row
  const signal = AbortSignal.any([stopped, service.closing, AbortSignal.timeout(resumeTimeoutMs)])
  // A runtime that an earlier resume left is not the paused one.
  await engine.remove(runtimeId, AbortSignal.timeout(removeTimeoutMs))
  await failpoint('resume.cleared')
  await fetchNeeded(service, row, signal)
  // Without a checkpoint the pause has kept the files alone: the runtime boots.
  await engine.ensure({ ...specOf(row, { restoreOnly: checkpointId !== null }), checkpointId }, signal)
  await failpoint('resume.restored')
  await networks.sync({ projectId, runtimeId })
  await failpoint('resume.networked')
  const { env, commands } = sourceSettingsOf(row)
  const guest = await bindRuntime(service, row, { env, renew: true, signal })
  await failpoint('resume.bound')
  try {
    const secrets = () => secretValues(service, { projectId, runtimeId })
    await startCommands(service, commands, { runtimeId, guest, signal, secretValues: secrets })
    await failpoint('resume.started')
    return null
  } catch (error) {
    // A command that fails each time must not keep the tenant's work out of reach.
    if (signal.aborted || !(error instanceof HoltError)) throw error
    return { code: 'on_restore_failed', message: error.message }
  }
}

/** Brings the artifacts of a resume to this host, if another host had the runtime. */
export async function fetchNeeded(
  { artifacts }: Pick<Runtimes, 'artifacts'>,
  row: PausedColumns,
  signal: AbortSignal,
): Promise<void> {
  if (artifacts.isShared) for (const ref of neededArtifacts(row)) await artifacts.fetch(ref, signal)
}

async function becomeRunning(service: Runtimes, ref: RuntimeRef, reason: Reason | null): Promise<RuntimeRow> {
  const { timeout_secs, expires_at } = await findRuntime(service, ref)
  // The deadline of a runtime that was paused only for a move goes on.
  const deadline = expires_at ?? expiresAt(timeout_secs, service.now())
  return advance(service, ref, {
    from: 'resuming',
    to: 'running',
    reason,
    set: { pause_checkpoint_id: null, near_host_id: null, paused_at: null, expires_at: deadline },
  })
}

/**
 * Removes a failed resume and throws its error. A runtime whose row is already `running` has been
 * resumed.
 */
export async function giveUpResume(
  service: Runtimes,
  ref: RuntimeRef,
  { error, stopped }: { error: unknown; stopped: AbortSignal },
): Promise<RuntimeRow> {
  if (stopped.aborted) throw new HoltError('runtime_terminated', 'The runtime was deleted while it was resumed.')
  const failure = service.closing.aborted ? closes() : meaningOf(error)
  service.log.warn({ err: error, runtime_id: ref.runtimeId }, 'a runtime could not be resumed; it stays paused')
  const reason = service.closing.aborted ? interrupted : { code: failure.code, message: failure.message }
  const row = await backToPaused(service, ref, reason)
  if (row.state === 'running') return row
  // A delete changes the row before it stops the resume.
  throw isDeleted(row.state) ? notRunning(row) : failure
}

function closes(): HoltError {
  return new HoltError('unavailable', 'The service stops.')
}

function meaningOf(error: unknown): HoltError {
  if (error instanceof HoltError) return error
  if (isTimeout(error))
    return new HoltError('timeout', `The runtime did not resume within ${resumeTimeoutMs / 1000} seconds.`)
  if (isEngineError(error) && ['no_space', 'incompatible', 'damaged'].includes(error.kind))
    return fromEngineError(error)
  return new HoltError('unavailable', 'The host could not resume the runtime.', { cause: error })
}

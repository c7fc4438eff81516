import type { CheckpointInfo } from '@holt/engine'
import { failpoint } from '@holt/failpoints'
import { type Fork, type ForkResult, type ForkRuntime, HoltError } from '@holt/protocol'
import { fromEngineError, isEngineError, isTimeout } from '../../foundation/errors/engine-errors.ts'
import { findRunning, findRuntime, notRunning, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { aloneWith } from '../../foundation/store/alone.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { copyNetwork } from '../../resources/network/former-network.ts'
import { recordEvent } from '../../tenancy/events/record-event.ts'
import { requireQuotas } from '../../tenancy/projects/require-quotas.ts'
import type { Runtimes } from '../runtimes.ts'
import { requireCheckpoints } from '../state/can-pause.ts'
import { showRuntime } from '../state/present-runtime.ts'
import { type WriteDown, writeDown, writeTimeoutMs } from '../state/write-down.ts'
import { childIds } from './child-ids.ts'
import { makeChild, type WantedChild } from './make-child.ts'

/** The runtime to fork, and the id of the first child. */
export interface ForkCreation extends RuntimeRef {
  readonly firstId: string
  readonly request: ForkRuntime
}

/**
 * Forks a running runtime. Writes a checkpoint, continues the runtime, and creates children of the
 * checkpoint. Returns the result for each child. Only this process holds the checkpoint, so the
 * collector removes it if the process dies. Forks that wait at the same time share it.
 */
export async function forkRuntime(service: Runtimes, creation: ForkCreation): Promise<Fork> {
  const { firstId, request } = creation
  const ids = childIds(firstId, request.count)
  const earlier = await findEarlier(service, creation, ids)
  if (earlier !== null) return earlier
  const source = await findRunning(service, creation)
  await requireCheckpoints(service, source)
  await requireRoomForOne(service, source)
  const { holds } = service
  holds.hold(firstId, source.image_digest)
  try {
    await failpoint('fork.held')
    const before = await copyNetwork(service, creation)
    const what = { runtimeId: source.runtime_id, recordFiles: request.record_files ?? false }
    await using checkpoint = await service.forkCheckpoints.take(what, (checkpointId) =>
      write(service, source, { ...what, checkpointId, leaveRunning: true }),
    )
    await failpoint('fork.written')
    const after = await copyNetwork(service, creation)
    // The authority of a runtime that was deleted meanwhile is gone. Its children are still made,
    // with the earlier copy.
    const network = after.ca === null ? before : after
    const { checkpointId, sizeBytes: checkpointBytes } = checkpoint
    const make = (id: string) =>
      service.forkLimiter.run(source.project_id, () =>
        child(service, source, { id, checkpointId, checkpointBytes, request, network }),
      )
    const children = await Promise.all(ids.map(make))
    await tellIfItCan(service, source, children)
    return { data: children }
  } finally {
    holds.release(firstId)
  }
}

/** Rejects if not even one child may be made, so that the runtime need not stop for it. */
async function requireRoomForOne(service: Runtimes, source: RuntimeRow): Promise<void> {
  const { project_id: projectId, cpu, memory_mib, disk_mib } = source
  await requireQuotas(service, service.store.db, { projectId, adds: { runtimes: 1, cpu, memory_mib, disk_mib } })
}

async function write(service: Runtimes, source: RuntimeRow, what: WriteDown): Promise<CheckpointInfo> {
  const signal = AbortSignal.any([service.closing, AbortSignal.timeout(writeTimeoutMs)])
  try {
    return await writeDown(service, source.runtime_id, what, signal)
  } catch (error) {
    const { log } = service
    log.warn({ err: error, runtime_id: source.runtime_id }, 'a runtime could not be checkpointed for a fork')
    const ref = { projectId: source.project_id, runtimeId: source.runtime_id }
    const now = await findRuntime(service, ref)
    if (now.state !== 'running') throw notRunning(now)
    if (isTimeout(error))
      throw new HoltError(
        'timeout',
        `The checkpoint of the runtime was not written within ${writeTimeoutMs / 1000} seconds.`,
      )
    throw error
  }
}

/** Returns a child, or the error that prevented it. */
async function child(service: Runtimes, source: RuntimeRow, wanted: WantedChild): Promise<ForkResult> {
  try {
    const row = await makeHereOrElsewhere(service, source, wanted)
    return { runtime: await showRuntime(service, row), error: null }
  } catch (error) {
    if (!(error instanceof HoltError) && !isEngineError(error))
      service.log.error({ err: error, runtime_id: wanted.id }, 'a child of a fork could not be made')
    return failed(meaningOf(error))
  }
}

/** Makes a child on this host while it has room, and then on another one of its fleet. */
async function makeHereOrElsewhere(service: Runtimes, source: RuntimeRow, wanted: WantedChild): Promise<RuntimeRow> {
  const { makeChild: makeElsewhere } = service.forkHosts
  let refusal = new HoltError('capacity_exhausted', 'No host of the fleet has room for the child.')
  try {
    if (makeElsewhere === null || !service.leaving.isDraining) return await makeChild(service, source, wanted)
  } catch (error) {
    const isFull = error instanceof HoltError && (error.code === 'capacity_exhausted' || error.code === 'disk_full')
    if (!isFull || makeElsewhere === null) throw error
    refusal = error
  }
  const row = await makeElsewhere(source, wanted)
  if (row === null) throw refusal
  return row
}

function meaningOf(error: unknown): HoltError {
  if (error instanceof HoltError) return error
  if (isEngineError(error)) return fromEngineError(error)
  return new HoltError('internal', 'The service failed.')
}

function failed({ code, message, hint }: HoltError): ForkResult {
  return { runtime: null, error: { code, message, hint } }
}

/**
 * Returns the children of an earlier attempt with the same ids, whose answer was lost. Returns null
 * if there was none.
 */
async function findEarlier(
  service: Runtimes,
  { projectId, runtimeId }: ForkCreation,
  ids: readonly string[],
): Promise<Fork | null> {
  const rows = await service.store.db
    .selectFrom('runtimes')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('parent_id', '=', runtimeId)
    .where('runtime_id', 'in', ids)
    .execute()
  if (rows.length === 0) return null
  const interrupted = new HoltError('unavailable', 'The service stopped while it made this runtime.', {
    hint: 'Fork the runtime again under another Idempotency-Key.',
  })
  const data = ids.map(async (id): Promise<ForkResult> => {
    const row = rows.find(({ runtime_id, started_at }) => runtime_id === id && started_at !== null)
    return row === undefined ? failed(interrupted) : { runtime: await showRuntime(service, row), error: null }
  })
  return { data: await Promise.all(data) }
}

/** Records the fork's event. The children exist even if that fails, and each has its own events. */
async function tellIfItCan(service: Runtimes, source: RuntimeRow, results: readonly ForkResult[]): Promise<void> {
  try {
    await failpoint('fork.made')
    await tell(service, source, results)
  } catch (err) {
    service.log.error({ err, runtime_id: source.runtime_id }, 'the event of a fork could not be written')
  }
}

async function tell({ store, now }: Runtimes, source: RuntimeRow, results: readonly ForkResult[]): Promise<void> {
  const children = results.flatMap(({ runtime }) => (runtime === null ? [] : [runtime.runtime_id]))
  const event = {
    projectId: source.project_id,
    type: 'runtime.forked',
    subjectId: source.runtime_id,
    data: { children, failed: results.length - children.length },
    at: now(),
  } as const
  await store.change(aloneWith(event.projectId), (changes) => recordEvent(changes, event))
}

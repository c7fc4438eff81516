import { failpoint } from '@holt/failpoints'
import { type CreateSnapshot, type ErrorCode, errorCatalogue, HoltError, type SnapshotKind } from '@holt/protocol'
import { type RuntimeFiles, storeFiles } from '../../artifacts/artifacts.ts'
import { fromEngineError, isEngineError, isTimeout } from '../../foundation/errors/engine-errors.ts'
import { checkpointOf } from '../../foundation/rows/checkpoint-id.ts'
import { findRunning, findRuntime, notRunning, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { aloneWith } from '../../foundation/store/alone.ts'
import type { RuntimeRow, SnapshotRow } from '../../foundation/store/tables.ts'
import { caPurpose } from '../../resources/network/decide-network.ts'
import { type FormerNetwork, formerNetwork } from '../../resources/network/former-network.ts'
import type { Runtimes } from '../runtimes.ts'
import { hasCheckpoints, requireCheckpoints } from '../state/can-pause.ts'
import type { Reason } from '../state/change-state.ts'
import { writeTimeoutMs } from '../state/write-down.ts'
import { captureSettings } from './capture-settings.ts'
import type { ImportedFiles } from './import-files.ts'
import { failSnapshot, finishSnapshot, insertSnapshot } from './snapshot-rows.ts'
import { writeSnapshot } from './write-snapshot.ts'

/** The runtime, the id and the settings of a new snapshot. */
export interface SnapshotCreation extends RuntimeRef {
  readonly snapshotId: string
  readonly request: CreateSnapshot
}

/**
 * Takes a snapshot of a running runtime, which always continues. The row exists before the files,
 * and is `ready` when all of them are durable. The snapshot is completed even if the client
 * disconnects. A repeated request with the same id returns its result.
 */
export async function takeSnapshot(service: Runtimes, creation: SnapshotCreation): Promise<SnapshotRow> {
  const earlier = await findEarlier(service, creation)
  if (earlier !== null) return earlier
  const runtime = await findRunning(service, creation)
  const hasMemory = hasCheckpoints(await service.engine.describe(), runtime.isolation)
  const kind = creation.request.kind ?? (hasMemory ? 'memory' : 'filesystem')
  if (kind === 'memory') await requireCheckpoints(service, runtime)
  else if (creation.request.record_files === true) throw recordless()
  const before = await formerNetwork(service, creation)
  const row = await insertOrFail(service, newRow(service, { creation, runtime, kind }))
  const begunAt = performance.now()
  let result: 'ready' | 'failed' = 'failed'
  try {
    await failpoint('snapshot.noted')
    const signal = AbortSignal.any([service.closing, AbortSignal.timeout(writeTimeoutMs)])
    const written = await writeSnapshot(service, { row, runtime }, signal)
    await failpoint('snapshot.written')
    const files = { imageDigest: written.imageDigest, checkpointId: row.checkpoint_id }
    if (service.config.fleet?.snapshotDurable === 'stored') await storeFiles(service.artifacts, files, signal)
    const ready = await publish(service, { row, runtime, written, before })
    result = 'ready'
    if (service.config.fleet?.snapshotDurable === 'local') void storeLater(service, files, row)
    return ready
  } catch (error) {
    // A change that returned an error may still have been made.
    const now = await snapshotRow(service, creation)
    if (now?.state === 'ready') {
      result = 'ready'
      return now
    }
    throw await giveUp(service, { row, runtime, error })
  } finally {
    service.metrics.work.noteSnapshot({ kind, result, seconds: (performance.now() - begunAt) / 1000 })
    service.holds.release(row.snapshot_id)
  }
}

/** Stores the files of a snapshot that is ready already. A later start of the host tries again. */
async function storeLater({ artifacts, closing, log }: Runtimes, files: RuntimeFiles, row: SnapshotRow): Promise<void> {
  await storeFiles(artifacts, files, closing).catch((err: unknown) => {
    log.warn({ err, snapshot_id: row.snapshot_id }, 'a snapshot is not in the object store yet')
  })
}

/**
 * Returns the snapshot of an earlier request with the same id, whose answer was lost. Throws its
 * error if it failed.
 */
async function findEarlier(service: Runtimes, creation: SnapshotCreation): Promise<SnapshotRow | null> {
  const row = await snapshotRow(service, creation)
  if (row === undefined || row.state === 'ready') return row ?? null
  const { code, message } = failureOf(row)
  throw new HoltError(code, message, { hint: 'Send it again under another Idempotency-Key.' })
}

function snapshotRow(
  { store }: Runtimes,
  { projectId, snapshotId }: SnapshotCreation,
): Promise<SnapshotRow | undefined> {
  return store.db
    .selectFrom('snapshots')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('snapshot_id', '=', snapshotId)
    .executeTakeFirst()
}

/**
 * Inserts the row. If that fails, marks a row that may exist as failed, because nobody would write
 * its snapshot.
 */
async function insertOrFail(service: Runtimes, row: ReturnType<typeof newRow>): Promise<SnapshotRow> {
  try {
    return await insertSnapshot(service, row)
  } catch (error) {
    await failSnapshot(service, row, { code: 'unavailable', message: 'The service could not start this snapshot.' })
    throw error
  }
}

/** Returns the failure of a snapshot, as the first client received it. */
function failureOf({ state_reason_json }: SnapshotRow): { code: ErrorCode; message: string } {
  const reason: Reason | null = state_reason_json === null ? null : JSON.parse(state_reason_json)
  if (reason === null) return { code: 'unavailable', message: 'The service did not finish this snapshot.' }
  const code = Object.hasOwn(errorCatalogue, reason.code) ? (reason.code as ErrorCode) : 'unavailable'
  return { code, message: reason.message }
}

function newRow(
  { now }: Runtimes,
  { creation, runtime, kind }: { creation: SnapshotCreation; runtime: RuntimeRow; kind: SnapshotKind },
) {
  const { snapshotId, projectId, request } = creation
  return {
    snapshot_id: snapshotId,
    project_id: projectId,
    name: request.name ?? null,
    kind,
    state: 'writing',
    state_reason_json: null,
    runtime_id: runtime.runtime_id,
    template_id: runtime.template_id,
    template_name: runtime.template_name,
    isolation: runtime.isolation,
    image_digest: runtime.image_digest,
    checkpoint_id: kind === 'memory' ? checkpointOf(snapshotId) : null,
    record_files: kind === 'memory' ? Number(request.record_files ?? false) : null,
    cpu: runtime.cpu,
    memory_mib: runtime.memory_mib,
    disk_mib: runtime.disk_mib,
    size_bytes: null,
    settings_json: '{}',
    created_at: now(),
  } as const
}

function recordless(): HoltError {
  return new HoltError('unsupported_setting', 'A filesystem snapshot takes no record of the files.', {
    hint: 'Leave out record_files: a diff can always compare with a filesystem snapshot.',
  })
}

interface Writing {
  readonly row: SnapshotRow
  readonly runtime: RuntimeRow
}

/**
 * Marks the written snapshot as ready, in one transaction with everything that its runtimes need.
 */
async function publish(
  service: Runtimes,
  { row, runtime, written, before }: Writing & { written: ImportedFiles; before: FormerNetwork },
): Promise<SnapshotRow> {
  const { projectId, runtimeId } = { projectId: row.project_id, runtimeId: row.runtime_id }
  // Includes facts that the programs learned until the end. The authority of a runtime that was
  // deleted meanwhile is gone, so the earlier facts are used.
  const after = await formerNetwork(service, { projectId, runtimeId })
  const former = after.ca === null ? before : after
  const settings = await captureSettings(service, runtime, former)
  const owner = { projectId, ownerId: row.snapshot_id, purpose: caPurpose, version: 1 }
  const storeCaKey =
    former.ca === null ? null : await service.sealedValues.prepare({ ...owner, value: former.ca.privateKeyPem })
  const ready = await service.store.change(aloneWith(projectId), async (changes) => {
    const facts = {
      image_digest: written.imageDigest,
      size_bytes: written.sizeBytes,
      settings_json: JSON.stringify(settings),
    }
    const stored = await finishSnapshot(service, changes, row, facts)
    if (stored !== null) await storeCaKey?.(changes)
    return stored
  })
  await failpoint('snapshot.ready')
  if (ready !== null) return ready
  throw new HoltError('conflict', 'The snapshot was deleted while it was written.')
}

/**
 * Marks a snapshot as failed, requests the collection of its files, and returns the client's error.
 */
async function giveUp(service: Runtimes, { row, runtime, error }: Writing & { error: unknown }): Promise<HoltError> {
  const { log, holds, collector } = service
  const failure = await meaningOf(service, runtime, error)
  log.warn({ err: error, snapshot_id: row.snapshot_id, runtime_id: row.runtime_id }, 'a snapshot could not be written')
  try {
    await failSnapshot(service, row, { code: failure.code, message: failure.message })
  } catch (failed) {
    // The next start of the service finds the row and ends it.
    log.error({ err: failed, snapshot_id: row.snapshot_id }, 'the end of a snapshot could not be written')
  }
  holds.release(row.snapshot_id)
  collector.request()
  return failure
}

async function meaningOf(
  service: Runtimes,
  { project_id, runtime_id }: RuntimeRow,
  error: unknown,
): Promise<HoltError> {
  const ref = { projectId: project_id, runtimeId: runtime_id }
  const now = await findRuntime(service, ref).catch(() => null)
  if (now !== null && now.state !== 'running') return notRunning(now)
  if (error instanceof HoltError) return error
  if (isTimeout(error))
    return new HoltError('timeout', `The snapshot was not written within ${writeTimeoutMs / 1000} seconds.`)
  if (isEngineError(error) && error.kind === 'invalid')
    return new HoltError('conflict', 'The files of the runtime could not be read as an image.', { cause: error })
  if (isEngineError(error)) return fromEngineError(error)
  return new HoltError('unavailable', 'The host could not write the snapshot.', { cause: error })
}

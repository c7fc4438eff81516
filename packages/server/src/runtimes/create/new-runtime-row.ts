import type { CreateRuntime, SnapshotKind } from '@holt/protocol'
import { actingRequest } from '../../foundation/request/request-context.ts'
import type { NewRuntimeRow } from '../../foundation/store/tables.ts'
import type { Size } from '../admission/decide-size.ts'
import { type DeadlineColumns, expiresAt } from '../state/deadline.ts'
import { sourceSettingsText } from '../state/source-settings.ts'
import type { RuntimeSource } from './runtime-source.ts'

/** The project, the id, and the settings of a request for a runtime's row. */
export interface RowCreation {
  readonly projectId: string
  readonly runtimeId: string
  readonly request: Pick<CreateRuntime, 'name' | 'env' | 'metadata' | 'spread'>
  /** The settings of a client of E2B, as stored. Default: the runtime is not made by one. */
  readonly sandbox?: string | null
  /** The parts that a pause at the deadline keeps. Default: the memory, too. */
  readonly pauseKind?: SnapshotKind
}

/** Returns the row of a new runtime. */
export function newRuntimeRow(
  { projectId, runtimeId, request, sandbox = null, pauseKind = 'memory' }: RowCreation,
  { source, size, deadline, at }: { source: RuntimeSource; size: Size; deadline: DeadlineColumns; at: number },
): NewRuntimeRow {
  // A checkpoint holds the memory and the processors of its runtime, so it fits that size only.
  const fits = size.cpu === source.cpu && size.memoryMiB === source.memoryMiB
  return {
    runtime_id: runtimeId,
    project_id: projectId,
    name: request.name ?? null,
    state: 'starting',
    state_reason_json: null,
    template_id: source.templateId,
    template_name: source.templateName,
    image_digest: source.imageDigest,
    checkpoint_id: fits ? source.checkpointId : null,
    isolation: source.isolation,
    cpu: size.cpu,
    memory_mib: size.memoryMiB,
    disk_mib: size.diskMiB,
    env_json: JSON.stringify(request.env),
    metadata_json: JSON.stringify(request.metadata),
    user: source.user,
    workdir: source.workdir,
    source_json: sourceSettingsText(source),
    ...deadline,
    pause_checkpoint_id: null,
    pause_kind: pauseKind,
    paused_at: null,
    snapshot_id: source.snapshotId,
    parent_id: source.parentId,
    creation_id: null,
    made_by_key_id: actingRequest()?.keyId ?? null,
    e2b_json: sandbox,
    spread: request.spread ?? null,
    expires_at: expiresAt(deadline.timeout_secs, at),
    created_at: at,
    started_at: null,
    ended_at: null,
    updated_at: at,
    revision: 1,
  }
}

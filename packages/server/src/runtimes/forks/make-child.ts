import type { ForkRuntime } from '@holt/protocol'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import type { DecidedNetwork } from '../../resources/network/decide-network.ts'
import { newRuntimeRow } from '../create/new-runtime-row.ts'
import { reserveRuntime } from '../create/reserve-runtime.ts'
import { broughtBackMiB } from '../create/restores-under-way.ts'
import type { RuntimeSource } from '../create/runtime-source.ts'
import { startRuntime } from '../create/start-runtime.ts'
import type { Runtimes } from '../runtimes.ts'
import { type DeadlineColumns, decideDeadline } from '../state/deadline.ts'
import { sourceSettingsOf } from '../state/source-settings.ts'

/** The settings of a child, and the checkpoint that it starts from. */
export interface WantedChild {
  readonly id: string
  readonly checkpointId: string
  readonly checkpointBytes: number
  readonly request: ForkRuntime
  /** The network of its parent. */
  readonly network: DecidedNetwork
}

/**
 * Makes one child of a fork. It is admitted, recorded and started like any runtime, with its
 * parent's environment, network and secrets.
 */
export async function makeChild(
  service: Runtimes,
  parent: RuntimeRow,
  { id, checkpointId, checkpointBytes, request, network }: WantedChild,
): Promise<RuntimeRow> {
  const source = sourceOf(parent, { checkpointId, checkpointBytes })
  const size = { cpu: parent.cpu, memoryMiB: parent.memory_mib, diskMiB: parent.disk_mib }
  const creation = {
    projectId: parent.project_id,
    runtimeId: id,
    request: asCreate(parent, request),
    sandbox: parent.e2b_json,
  }
  const deadline = childDeadline(parent, request)
  const [facts, freeMemoryMiB] = await Promise.all([service.engine.describe(), service.freeMemoryMiB()])
  const { origin_image_digest, pause_kind } = parent
  const own = newRuntimeRow(creation, { source, size, deadline, at: service.now() })
  const row = { ...own, origin_image_digest, pause_kind }
  const stored = await reserveRuntime(service, row, {
    facts,
    freeMemoryMiB,
    network,
    broughtBackMiB: broughtBackMiB(checkpointBytes, row.memory_mib),
  })
  if (stored === null) throw new Error(`the checkpoint of the child ${id} is not held`)
  return startRuntime(service, stored, source)
}

function sourceOf(
  parent: RuntimeRow,
  { checkpointId, checkpointBytes }: Pick<WantedChild, 'checkpointId' | 'checkpointBytes'>,
): RuntimeSource {
  return {
    templateId: parent.template_id,
    templateName: parent.template_name,
    snapshotId: null,
    parentId: parent.runtime_id,
    isolation: parent.isolation,
    imageDigest: parent.image_digest,
    checkpointId,
    checkpointBytes,
    restoreOnly: true,
    renew: true,
    cpu: parent.cpu,
    memoryMiB: parent.memory_mib,
    diskMiB: parent.disk_mib,
    user: parent.user,
    workdir: parent.workdir,
    ...sourceSettingsOf(parent),
  }
}

/** Returns the create request of such a runtime. Absent settings are the parent's. */
function asCreate(parent: RuntimeRow, request: ForkRuntime) {
  return {
    env: JSON.parse(parent.env_json) as Record<string, string>,
    metadata: request.metadata ?? (JSON.parse(parent.metadata_json) as Record<string, string>),
    ...(parent.spread === null ? {} : { spread: parent.spread }),
  }
}

/** Returns the deadline of a child. Absent settings are the parent's. */
export function childDeadline(parent: RuntimeRow, request: ForkRuntime): DeadlineColumns {
  return decideDeadline(deadlineOf(parent, request), { canPause: true })
}

function deadlineOf(parent: RuntimeRow, request: ForkRuntime) {
  return {
    timeout_secs: request.timeout_secs === undefined ? parent.timeout_secs : request.timeout_secs,
    on_timeout: request.on_timeout ?? parent.on_timeout,
    idle_timeout_secs: request.idle_timeout_secs === undefined ? parent.idle_timeout_secs : request.idle_timeout_secs,
    auto_resume: request.auto_resume ?? parent.auto_resume === 1,
  }
}

import type { ForkDryRun, ForkRuntime } from '@holt/protocol'
import { attempt, type Refuse } from '../../foundation/errors/refuse.ts'
import { findRunning, findRuntime, type RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { copyRules } from '../../resources/network/former-network.ts'
import { requireQuota } from '../../tenancy/projects/require-quotas.ts'
import { admit } from '../admission/admit.ts'
import { type RequiredRoom, requireRoom } from '../admission/require-room.ts'
import { presentPlan, Refusals } from '../create/present-dry-run.ts'
import type { Runtimes } from '../runtimes.ts'
import { requireCheckpoints } from '../state/can-pause.ts'
import { childDeadline } from './make-child.ts'

/**
 * Runs the checks of a fork and of its children, and collects the refusals. Writes nothing and
 * takes no checkpoint. The memory that the children begin with is unknown before a checkpoint and
 * is not counted.
 */
export async function dryRunFork(service: Runtimes, ref: RuntimeRef, request: ForkRuntime): Promise<ForkDryRun> {
  const parent = await findRuntime(service, ref)
  const { refuse, problems } = new Refusals()
  await attempt(refuse, () => findRunning(service, ref))
  await attempt(refuse, () => requireCheckpoints(service, parent))
  const size = { cpu: parent.cpu, memoryMiB: parent.memory_mib, diskMiB: parent.disk_mib }
  const [facts, freeMemoryMiB] = await Promise.all([service.engine.describe(), service.freeMemoryMiB()])
  const room = await requireRoom(service, service.store.db, {
    wanted: { projectId: ref.projectId, runtimeId: '', name: null, size },
    host: { facts, freeMemoryMiB, broughtBackMiB: 0 },
    refuse,
  })
  let children = 0
  while (children < request.count && problems.length === 0) {
    children += 1
    if (children < request.count) requireRoomBeside(room, { children, refuse })
  }
  const { policy, secrets } = await copyRules(service.store.db, ref)
  const plan = {
    source: { templateId: parent.template_id, templateName: parent.template_name, snapshotId: null },
    isolation: parent.isolation,
    size,
    network: { policy, secrets: secrets.map(({ row }) => row) },
    deadline: childDeadline(parent, request),
  }
  const quotas = room.quotas.map((demand) => ({ ...demand, wanted: demand.wanted * request.count }))
  return {
    would_create: problems.length === 0,
    ...presentPlan(service, plan, { ...room, quotas }),
    count: request.count,
    children,
    problems,
  }
}

/** Refuses if there is no room for one more child beside `children` others. */
function requireRoomBeside(
  { quotas, admission }: RequiredRoom,
  { children, refuse }: { children: number; refuse: Refuse },
): void {
  for (const demand of quotas) requireQuota({ ...demand, used: demand.used + children * demand.wanted }, refuse)
  const { promisedMiB, starting, memoryMiB } = admission
  admit({ ...admission, promisedMiB: promisedMiB + children * memoryMiB, starting: starting + children }, refuse)
}

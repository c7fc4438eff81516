import { EngineError } from '@holt/engine'
import type { CreateRuntime, DryRun, DryRunProblem, HoltError } from '@holt/protocol'
import { imageAsItIs } from '../agents/pull-agent-template.ts'
import { fromEngineError } from '../engine-errors.ts'
import { contentOf } from '../network/find-policy.ts'
import type { Service } from '../service.ts'
import { roomOf } from './admit.ts'
import { planRuntime, type RuntimePlan } from './plan-runtime.ts'
import type { Refuse } from './refuse.ts'
import { requirePlace } from './require-place.ts'
import { type RequiredRoom, requireRoom } from './require-room.ts'

/**
 * Answers a create with `dry_run`: runs every check that a create runs before it makes anything, and
 * collects the refusals. Writes nothing. The answer is a forecast: a later create is checked anew.
 */
export async function dryRunCreate(service: Service, projectId: string, request: CreateRuntime): Promise<DryRun> {
  const refusals: HoltError[] = []
  const refuse = (error: HoltError) => {
    refusals.push(error)
    return null
  }
  requirePlace(service, request, refuse)
  const plan = await planRuntime<null>(service, projectId, { request, imageOf: imageAsItIs, refuse })
  const { size, host } = plan
  // No runtime has this id, so every restore under way counts.
  const wanted = { projectId, runtimeId: '', name: request.name ?? null, size }
  const room = await requireRoom(service, service.store.db, { wanted, host, refuse })
  await requireUsable(service, plan, refuse)
  return { would_create: refusals.length === 0, ...present(service, plan, room), problems: refusals.map(problemOf) }
}

/** Refuses a memory snapshot that the engine will not restore, with the error of the engine. */
async function requireUsable({ engine }: Service, { source }: RuntimePlan<null>, refuse: Refuse): Promise<void> {
  if (source === null || source.checkpointId === null || !source.restoreOnly) return
  const found = await engine.ability('checkpoints')?.usable(source.checkpointId, { restoreOnly: true })
  if (found === undefined || found.usable) return
  refuse(fromEngineError(new EngineError(found.problem === 'incompatible' ? 'incompatible' : 'damaged', found.why)))
}

function present(
  { config: { cloud, region } }: Service,
  { source, isolation, size, network, deadline }: RuntimePlan<null>,
  { quotas, admission }: RequiredRoom,
): Omit<DryRun, 'would_create' | 'problems'> {
  const { memoryMaxMiB, memoryFreeMiB, diskFreeMiB } = roomOf(admission)
  return {
    template:
      source === null
        ? null
        : { template_id: source.templateId as DryRunTemplate['template_id'], name: source.templateName },
    snapshot_id: (source?.snapshotId ?? null) as DryRun['snapshot_id'],
    cloud,
    region,
    isolation,
    cpu: size.cpu,
    memory_mib: size.memoryMiB,
    disk_mib: size.diskMiB,
    secrets: network.secrets.map(({ name }) => name),
    ...presentPolicy(network),
    timeout_secs: deadline?.timeout_secs ?? null,
    on_timeout: deadline?.on_timeout ?? null,
    idle_timeout_secs: deadline?.idle_timeout_secs ?? null,
    auto_resume: deadline === null ? null : deadline.auto_resume === 1,
    quotas: quotas.map(({ quota, limit, used, wanted }) => ({ quota, limit, used, after: sum(used, wanted) })),
    host: { memory_max_mib: memoryMaxMiB, memory_free_mib: memoryFreeMiB, disk_free_mib: diskFreeMiB },
  }
}

type DryRunTemplate = NonNullable<DryRun['template']>

function presentPolicy({ policy, secrets }: RuntimePlan['network']): Pick<DryRun, 'network_policy' | 'policy'> {
  if (policy === null) return { network_policy: null, policy: null }
  const placed = secrets
    .filter(({ inside }) => inside === 0)
    .map(({ name, hosts_json }) => ({ name, hosts: JSON.parse(hosts_json) as string[] }))
  return { network_policy: policy.ref, policy: contentOf(policy.body, placed) }
}

/** vCPUs come in thousandths, and sums of them as floating point. */
function sum(used: number, wanted: number): number {
  return Math.round((used + wanted) * 1000) / 1000
}

function problemOf({ code, message, hint, details }: HoltError): DryRunProblem {
  return { code, message, hint, ...(details === undefined ? {} : { details }) }
}

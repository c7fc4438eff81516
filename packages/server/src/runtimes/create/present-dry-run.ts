import type { DryRun, DryRunProblem, HoltError } from '@holt/protocol'
import type { Refuse } from '../../foundation/errors/refuse.ts'
import type { ChosenNetwork } from '../../resources/network/decide-network.ts'
import { contentOf } from '../../resources/network/find-policy.ts'
import { roomOf } from '../admission/admit.ts'
import type { RequiredRoom } from '../admission/require-room.ts'
import type { Runtimes } from '../runtimes.ts'
import type { RuntimePlan } from './plan-runtime.ts'
import type { RuntimeSource } from './runtime-source.ts'

/** Collects the refusals of a dry run, in order. */
export class Refusals {
  readonly problems: DryRunProblem[] = []
  readonly refuse: Refuse = ({ code, message, hint, details }: HoltError) => {
    this.problems.push({ code, message, hint, ...(details === undefined ? {} : { details }) })
    return null
  }
}

/** The parts of a plan that a dry run shows. */
interface ShownPlan extends Pick<RuntimePlan<null>, 'isolation' | 'size' | 'network' | 'deadline'> {
  readonly source: Pick<RuntimeSource, 'templateId' | 'templateName' | 'snapshotId'> | null
}

/** Returns a plan and the capacity in the API's form. */
export function presentPlan(
  { config: { cloud, region } }: Pick<Runtimes, 'config'>,
  { source, isolation, size, network, deadline }: ShownPlan,
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

function presentPolicy({ policy, secrets }: ChosenNetwork): Pick<DryRun, 'network_policy' | 'policy'> {
  if (policy === null) return { network_policy: null, policy: null }
  const placed = secrets
    .filter(({ inside }) => inside === 0)
    .map(({ name, hosts_json }) => ({ name, hosts: JSON.parse(hosts_json) as string[] }))
  return { network_policy: policy.ref, policy: contentOf(policy.body, placed) }
}

/** Adds vCPUs, rounded to thousandths, because sums of floating point numbers are not exact. */
function sum(used: number, wanted: number): number {
  return Math.round((used + wanted) * 1000) / 1000
}

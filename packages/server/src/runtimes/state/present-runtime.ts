import type { Runtime } from '@holt/protocol'
import type { ServerConfig } from '../../foundation/config/config.ts'
import type { HostDirectory } from '../../foundation/host/host-directory.ts'
import { hostUnreachable, unreachableText } from '../../foundation/host/require-own.ts'
import { hasEnded } from '../../foundation/rows/states.ts'
import { moment, momentOrNull } from '../../foundation/store/moment.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { type NetworkFacts, networkFacts } from '../../resources/network/find-network.ts'
import type { Runtimes } from '../runtimes.ts'
import { publicPorts } from './port-settings.ts'

/** The parts of the service that the form of a runtime needs. */
export interface PresentParts {
  readonly config: Pick<ServerConfig, 'cloud' | 'region'>
  readonly hosts: HostDirectory
}

/** Returns a stored runtime in the API's form. */
export function presentRuntime(
  row: RuntimeRow,
  { config: { cloud, region }, hosts }: PresentParts,
  network: NetworkFacts,
): Runtime {
  return {
    runtime_id: row.runtime_id as Runtime['runtime_id'],
    name: row.name,
    state: row.state,
    state_reason: reasonOf(row, hosts),
    template: { template_id: row.template_id as Runtime['template']['template_id'], name: row.template_name },
    snapshot_id: row.snapshot_id as Runtime['snapshot_id'],
    parent_id: row.parent_id as Runtime['parent_id'],
    cloud,
    region,
    spread: row.spread,
    isolation: row.isolation,
    cpu: row.cpu,
    memory_mib: row.memory_mib,
    disk_mib: row.disk_mib,
    env: JSON.parse(row.env_json),
    metadata: JSON.parse(row.metadata_json),
    secrets: [...network.secrets],
    secrets_inside: network.secretsInside,
    ports: publicPorts(row).map((port) => ({ port, public: true })),
    network_policy: network.policy,
    timeout_secs: row.timeout_secs,
    on_timeout: row.on_timeout,
    idle_timeout_secs: row.idle_timeout_secs,
    auto_resume: row.auto_resume === 1,
    expires_at: momentOrNull(row.expires_at),
    created_at: moment(row.created_at),
    started_at: momentOrNull(row.started_at),
    paused_at: momentOrNull(row.paused_at),
    updated_at: moment(row.updated_at),
  }
}

/** Returns a stored runtime with its stored network in the API's form. */
export async function showRuntime(service: Runtimes, row: RuntimeRow): Promise<Runtime> {
  const factsOf = await networkFacts(service.store.db, row.project_id, [row.runtime_id])
  return presentRuntime(row, service, factsOf(row.runtime_id))
}

/**
 * Returns the reason of the state. For a runtime on a suspect host it says so. That is a fact about
 * the host at this moment, which is stored nowhere.
 */
function reasonOf({ state, state_reason_json, host_id }: RuntimeRow, hosts: HostDirectory): Runtime['state_reason'] {
  const silentMs = hasEnded(state) || host_id === null ? null : hosts.silentMs(host_id)
  if (silentMs !== null) return { code: hostUnreachable, message: unreachableText(silentMs) }
  return state_reason_json === null ? null : JSON.parse(state_reason_json)
}

import {
  clientId,
  envdVersion,
  type ListedSandbox,
  type Sandbox,
  type SandboxDetail,
  type SandboxState,
} from '@holt/e2b'
import type { PolicyBody } from '@holt/protocol'
import type { Api } from '../../api/api.ts'
import { type Caller, hasScopeOf } from '../../foundation/request/caller.ts'
import { refOf } from '../../foundation/rows/find-runtime.ts'
import { moment } from '../../foundation/store/moment.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { currentPolicy, networkRow } from '../../resources/network/find-network.ts'
import { clientTemplateId } from './client-template-id.ts'
import { presentSize } from './present-size.ts'
import { sandboxSettingsOf } from './sandbox-settings.ts'

/** The end of a runtime without a deadline. Clients need a time. */
const never = '9999-12-31T23:59:59.000Z'

/** Returns a runtime as create, connect, resume and fork answer it. */
export async function presentSandbox({ runtimeTokens, config }: Api, row: RuntimeRow): Promise<Sandbox> {
  const settings = sandboxSettingsOf(row)
  return {
    sandboxID: row.runtime_id,
    templateID: templateIdOf(row),
    clientID: clientId,
    envdVersion,
    alias: row.template_name,
    envdAccessToken: await runtimeTokens.sandbox('envd', row),
    // The ports of a runtime that Holt's own clients made are as private as by Holt's addresses.
    trafficAccessToken: settings?.publicPorts === false ? await runtimeTokens.sandbox('traffic', row) : null,
    domain: config.e2b?.sandboxDomain ?? null,
  }
}

/** Returns a runtime as lists show it. */
export function listedSandbox(row: RuntimeRow): ListedSandbox {
  return {
    sandboxID: row.runtime_id,
    templateID: templateIdOf(row),
    clientID: clientId,
    alias: row.template_name,
    startedAt: moment(row.started_at ?? row.created_at),
    endAt: endOf(row),
    ...presentSize(row),
    state: stateOf(row),
    envdVersion,
    metadata: JSON.parse(row.metadata_json),
    volumeMounts: [],
  }
}

/**
 * Returns a runtime with everything that clients see of it. Only a caller who may run commands gets
 * the token for them.
 */
export async function sandboxDetail(
  service: Api,
  row: RuntimeRow,
  { scopes }: Pick<Caller, 'scopes'>,
): Promise<SandboxDetail> {
  const { store, runtimeTokens, config } = service
  const policy = await currentPolicy(store.db, await networkRow(store.db, refOf(row)))
  const network = sandboxSettingsOf(row)?.network ?? null
  return {
    ...listedSandbox(row),
    ...(hasScopeOf(scopes, 'runtime:write') ? { envdAccessToken: await runtimeTokens.sandbox('envd', row) } : {}),
    domain: config.e2b?.sandboxDomain ?? null,
    allowInternetAccess: policy === null ? false : reachesInternet(policy.body),
    ...(network === null ? {} : { network }),
    lifecycle: { onTimeout: row.on_timeout === 'pause' ? 'pause' : 'kill', autoResume: row.auto_resume === 1 },
  }
}

/** Returns true for a policy that allows every public host, and null for one that allows some. */
function reachesInternet({ allow }: PolicyBody): boolean | null {
  return allow.some(({ host }) => host === '*') ? true : null
}

/** Returns the id of the template. The name of a runtime's template may have a tag. */
function templateIdOf({ project_id, template_name }: RuntimeRow): string {
  return clientTemplateId(project_id, template_name.replace(/:.*$/, ''))
}

function stateOf({ state }: RuntimeRow): SandboxState {
  return state === 'running' ? 'running' : 'paused'
}

function endOf({ state, expires_at, paused_at, updated_at }: RuntimeRow): string {
  if (state !== 'running') return moment(paused_at ?? updated_at)
  return expires_at === null ? never : moment(expires_at)
}

import { createHash } from 'node:crypto'
import type { PolicyBody, PolicyRef } from '@holt/protocol'
import type { RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { compileOnce } from '../../foundation/store/compile-once.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { RuntimeNetworkRow } from '../../foundation/store/tables.ts'
import { bodyOf, readBody } from './find-policy.ts'

/** The current policy of a runtime. */
export interface CurrentPolicy {
  readonly ref: PolicyRef
  readonly body: PolicyBody
}

/** Returns the network row of a runtime, or undefined if it never had a network. */
export async function networkRow(
  db: Queries,
  { projectId, runtimeId }: RuntimeRef,
): Promise<RuntimeNetworkRow | undefined> {
  return db
    .selectFrom('runtime_networks')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('runtime_id', '=', runtimeId)
    .executeTakeFirst()
}

/** Returns the current policy of a runtime, or null if it may reach nothing. */
export async function currentPolicy(db: Queries, row: RuntimeNetworkRow | undefined): Promise<CurrentPolicy | null> {
  if (row === undefined) return null
  if (row.inline_json !== null) return { ref: { type: 'inline' }, body: readBody(row.inline_json) }
  if (row.policy_id === null) return null
  const policy = await db
    .selectFrom('policies')
    .selectAll()
    .where('project_id', '=', row.project_id)
    .where('policy_id', '=', row.policy_id)
    .executeTakeFirst()
  // A deleted policy allows nothing. Only ended runtimes can have one.
  const body = policy === undefined ? { allow: [], include: [], allow_all_hosts: false, deny: [] } : bodyOf(policy)
  return { ref: storedRef(row.policy_id, policy?.name ?? null), body }
}

/**
 * Returns the etag of a runtime's policy, null for none. A change of a stored policy changes it for
 * each of its runtimes.
 */
export function networkEtag(policy: CurrentPolicy | null): string {
  return `"${createHash('sha256').update(JSON.stringify(policy)).digest('base64url').slice(0, 22)}"`
}

/** The network facts in the view of a runtime. */
export interface NetworkFacts {
  readonly policy: PolicyRef | null
  readonly secrets: readonly string[]
  readonly secretsInside: boolean
}

const noNetwork: NetworkFacts = { policy: null, secrets: [], secretsInside: false }

/** Finds the networks. The values are the project and the runtimes. */
const networksOf = compileOnce((db, [projectId, ...runtimeIds]) =>
  db
    .selectFrom('runtime_networks as network')
    .leftJoin('policies', (join) =>
      join
        .onRef('policies.policy_id', '=', 'network.policy_id')
        .onRef('policies.project_id', '=', 'network.project_id'),
    )
    .select(['network.runtime_id', 'network.policy_id', 'network.inline_json', 'policies.name'])
    .where('network.project_id', '=', projectId as string)
    .where('network.runtime_id', 'in', runtimeIds as string[]),
)

/** Finds the secrets. The values are the project and the runtimes. */
const secretsOf = compileOnce((db, [projectId, ...runtimeIds]) =>
  db
    .selectFrom('runtime_secrets')
    .innerJoin('secrets', 'secrets.secret_id', 'runtime_secrets.secret_id')
    .select(['runtime_secrets.runtime_id', 'secrets.name', 'secrets.inside'])
    .where('runtime_secrets.project_id', '=', projectId as string)
    .where('runtime_secrets.runtime_id', 'in', runtimeIds as string[])
    .orderBy('runtime_secrets.position'),
)

/** Returns the network facts of some runtimes of a project, by the runtime's id. */
export async function networkFacts(
  db: Queries,
  projectId: string,
  runtimeIds: readonly string[],
): Promise<(runtimeId: string) => NetworkFacts> {
  if (runtimeIds.length === 0) return () => noNetwork
  const values = [projectId, ...runtimeIds]
  const [networks, secrets] = await Promise.all([networksOf(db, values), secretsOf(db, values)])
  return (runtimeId) => {
    const network = networks.find((row) => row.runtime_id === runtimeId)
    const held = secrets.filter((row) => row.runtime_id === runtimeId)
    const stored = network?.policy_id == null ? null : storedRef(network.policy_id, network.name)
    return {
      policy: network?.inline_json == null ? stored : { type: 'inline' },
      secrets: held.map(({ name }) => name),
      secretsInside: held.some(({ inside }) => inside === 1),
    }
  }
}

/** Returns a stored policy as runtimes show it. */
export function storedRef(policyId: string, name: string | null): PolicyRef {
  return { type: 'stored', policy_id: policyId as Extract<PolicyRef, { type: 'stored' }>['policy_id'], name }
}

import { makeRuntimeCa, type RuntimeCa, type SyntheticAddress } from '@holt/egress'
import { type CreateRuntime, type PolicyBody, type PolicyRef, randomText, type WantedPolicy } from '@holt/protocol'
import { attempt, type Refuse } from '../../foundation/errors/refuse.ts'
import type { RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import type { StoreSealed } from '../../foundation/sealing/sealed-values.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { RuntimeNetworkRow, SecretRow } from '../../foundation/store/tables.ts'
import { invalidField } from '../../foundation/wire/field-issues.ts'
import type { Resources } from '../resources.ts'
import { secretNotFound, secretOf } from '../secrets/find-secret.ts'
import { storedRef } from './find-network.ts'
import { bodyOf, bodyText, contentOf, findPolicy } from './find-policy.ts'
import type { FormerNetwork } from './former-network.ts'

/** The purpose of the sealed key of a runtime's own authority. */
export const caPurpose = 'runtime ca key'

/** A policy in its stored form, and its content. */
export interface ChosenPolicy {
  /** The reference as the API shows it. */
  readonly ref: PolicyRef
  readonly policyId: string | null
  readonly inlineJson: string | null
  readonly body: PolicyBody
}

/** The policy and the secrets of a new runtime. */
export interface ChosenNetwork {
  readonly policy: ChosenPolicy | null
  readonly secrets: readonly SecretRow[]
}

/** A chosen network with the parts that are made before there is a row. */
export interface DecidedNetwork {
  readonly policy: ChosenPolicy | null
  readonly ca: RuntimeCa | null
  readonly secrets: readonly { readonly row: SecretRow; readonly placeholder: string | null }[]
  /** The addresses that its programs already know. */
  readonly addresses: readonly SyntheticAddress[]
}

/** The requested network of a new runtime. `network_policy` is undefined if it is unknown. */
type WantedNetwork = Pick<CreateRuntime, 'secrets' | 'env'> & { readonly network_policy: WantedPolicy | undefined }

/**
 * Finds the policy and the secrets of a create. Refuses secrets that cannot work: one without a way
 * to its hosts, or two with the same variable.
 */
export async function chooseNetwork(
  { store }: Pick<Resources, 'store'>,
  projectId: string,
  { network_policy, secrets, env }: WantedNetwork,
  refuse: Refuse,
): Promise<ChosenNetwork> {
  const named = network_policy ?? null
  const policy = named === null ? null : await attempt(refuse, () => choosePolicy(store.db, projectId, named))
  // The ways of an unknown policy are not checked.
  const isKnown = network_policy !== undefined && (named === null || policy !== null)
  const found: SecretRow[] = []
  const variables = new Set(Object.keys(env))
  for (const [index, name] of secrets.entries()) {
    const row = await secretOf(store.db, projectId, name)
    const pointer = `/secrets/${index}`
    if (row === undefined) {
      refuse(await secretNotFound(store.db, projectId, name, { issues: [{ pointer, message: 'names no secret' }] }))
      continue
    }
    if (variables.has(row.env_name))
      refuse(invalidField(pointer, `needs the variable ${row.env_name}, which is also set in another way`))
    variables.add(row.env_name)
    if (row.inside === 0 && isKnown) requireWay(row, policy?.body ?? null, { pointer, refuse })
    found.push(row)
  }
  return { policy, secrets: found }
}

/**
 * Makes the parts of a chosen network. `former` is the network that its programs know, or null if
 * there is none.
 */
export async function decideNetwork(
  projectId: string,
  { policy, secrets }: ChosenNetwork,
  former: FormerNetwork | null,
): Promise<DecidedNetwork> {
  return {
    policy,
    ca: former?.ca ?? (policy === null ? null : await makeRuntimeCa(`Holt ${projectId}`)),
    secrets: secrets.map((row) => ({ row, placeholder: row.inside === 1 ? null : placeholderOf(row, former) })),
    addresses: former?.addresses ?? [],
  }
}

/** Finds the policy that a request names, or takes the one in the request. */
export async function choosePolicy(
  db: Queries,
  projectId: string,
  wanted: NonNullable<WantedPolicy>,
): Promise<ChosenPolicy> {
  if (typeof wanted !== 'string')
    return { ref: { type: 'inline' }, policyId: null, inlineJson: bodyText(wanted), body: wanted }
  const row = await findPolicy(db, projectId, wanted)
  return { ref: storedRef(row.policy_id, row.name), policyId: row.policy_id, inlineJson: null, body: bodyOf(row) }
}

/**
 * Stores a new runtime's network, in the transaction that stores the runtime. `storeCaKey` is null
 * if it has no authority.
 */
export async function storeNetwork(
  changes: Queries,
  {
    ref,
    network,
    storeCaKey,
    at,
  }: {
    readonly ref: RuntimeRef
    readonly network: DecidedNetwork
    readonly storeCaKey: StoreSealed | null
    readonly at: number
  },
): Promise<void> {
  const { policy, ca, secrets, addresses } = network
  const { projectId, runtimeId } = ref
  if (ca !== null) {
    // A policy that was deleted meanwhile is not found.
    if (policy !== null && policy.policyId !== null) await findPolicy(changes, projectId, policy.policyId)
    await changes.insertInto('runtime_networks').values(newNetworkRow(ref, { policy, ca, at })).execute()
    await storeCaKey?.(changes)
  }
  for (const [position, { row, placeholder }] of secrets.entries()) {
    await changes
      .insertInto('runtime_secrets')
      .values({ runtime_id: runtimeId, project_id: projectId, secret_id: row.secret_id, placeholder, position })
      .execute()
  }
  const known = addresses.map(({ address, name }) => ({ runtime_id: runtimeId, address, name }))
  if (known.length > 0) await changes.insertInto('runtime_addresses').values(known).execute()
}

/**
 * Returns the network row of a new runtime. `policy` is null if the runtime only had a network
 * before.
 */
export function newNetworkRow(
  { projectId, runtimeId }: RuntimeRef,
  { policy, ca, at }: { policy: ChosenPolicy | null; ca: RuntimeCa; at: number },
): RuntimeNetworkRow {
  return {
    runtime_id: runtimeId,
    project_id: projectId,
    policy_id: policy?.policyId ?? null,
    inline_json: policy?.inlineJson ?? null,
    ca_certificate: ca.certificatePem,
    guest_has_it: 0,
    updated_at: at,
  }
}

/** Prepares the key of a runtime's own authority for the change that stores it. */
export async function prepareCaKey(
  { sealedValues }: Pick<Resources, 'sealedValues'>,
  { projectId, runtimeId: ownerId }: RuntimeRef,
  ca: RuntimeCa,
): Promise<StoreSealed> {
  return sealedValues.prepare({ projectId, ownerId, purpose: caPurpose, version: 1, value: ca.privateKeyPem })
}

/**
 * Refuses a secret that the gateway would never insert. The program would fail inside without a
 * reason.
 */
function requireWay(
  secret: SecretRow,
  policy: PolicyBody | null,
  { pointer, refuse }: { pointer: string; refuse: Refuse },
): void {
  const hosts = JSON.parse(secret.hosts_json) as string[]
  const named = hosts.join(', ')
  if (policy === null) {
    refuse(invalidField(pointer, `is for ${named}, but without a network_policy the runtime reaches no host`))
    return
  }
  const { inspection } = contentOf(policy, [{ name: secret.name, hosts }])
  if (inspection.some(({ secrets }) => secrets.includes(secret.name))) return
  refuse(invalidField(pointer, `is for ${named}, but the network policy does not allow that over TLS`))
}

/**
 * Returns the placeholder of a value. It is worthless outside of its runtime, and in other runtimes
 * except those that continue its programs.
 */
function placeholderOf({ secret_id, name }: SecretRow, former: FormerNetwork | null): string {
  return former?.placeholders[secret_id] ?? `holt-placeholder-${name}-${randomText(24)}`
}

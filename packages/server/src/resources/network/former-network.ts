import type { RuntimeCa, SyntheticAddress } from '@holt/egress'
import type { RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import type { Queries } from '../../foundation/store/open-store.ts'
import type { Resources } from '../resources.ts'
import { heldSecrets } from '../secrets/held-secrets.ts'
import { knownAddresses } from './address-book.ts'
import { caPurpose, type DecidedNetwork } from './decide-network.ts'
import { currentPolicy, networkRow } from './find-network.ts'

/**
 * The facts of a network that the programs inside know. They continue to use them in another
 * runtime.
 */
export interface FormerNetwork {
  /** The authority that they trust. Null if the runtime never had a network. */
  readonly ca: RuntimeCa | null
  /** The placeholders by the ids of their secrets. A secret with its value inside has none. */
  readonly placeholders: Readonly<Record<string, string>>
  readonly addresses: readonly SyntheticAddress[]
}

/** Returns the facts of a runtime's network that the programs inside know. */
export async function formerNetwork(service: Resources, ref: RuntimeRef): Promise<FormerNetwork> {
  const { db } = service.store
  const secrets = await heldSecrets(db, ref)
  await service.networks.flushAddresses()
  return {
    ca: await authorityOf(service, ref),
    placeholders: Object.fromEntries(
      secrets.flatMap(({ secret_id, placeholder }) => (placeholder === null ? [] : [[secret_id, placeholder]])),
    ),
    addresses: await knownAddresses(db, ref.runtimeId),
  }
}

/**
 * Returns a copy of a runtime's network for another one that continues its programs. It is equal in
 * everything.
 */
export async function copyNetwork(service: Resources, ref: RuntimeRef): Promise<DecidedNetwork> {
  const rules = await copyRules(service.store.db, ref)
  const { ca, addresses } = await formerNetwork(service, ref)
  return { ...rules, ca, addresses }
}

/** Returns the policy and the secrets of a runtime's network. Only reads rows. */
export async function copyRules(db: Queries, ref: RuntimeRef): Promise<Pick<DecidedNetwork, 'policy' | 'secrets'>> {
  const row = await networkRow(db, ref)
  const policy = await currentPolicy(db, row)
  return {
    policy:
      row === undefined || policy === null
        ? null
        : { ref: policy.ref, policyId: row.policy_id, inlineJson: row.inline_json, body: policy.body },
    secrets: (await heldSecrets(db, ref)).map(({ placeholder, ...secret }) => ({ row: secret, placeholder })),
  }
}

async function authorityOf({ store, sealedValues }: Resources, ref: RuntimeRef): Promise<RuntimeCa | null> {
  const { projectId, runtimeId: ownerId } = ref
  const row = await networkRow(store.db, ref)
  if (row === undefined) return null
  const privateKeyPem = await sealedValues.read(store.db, { projectId, ownerId, purpose: caPurpose })
  return privateKeyPem === null ? null : { certificatePem: row.ca_certificate, privateKeyPem }
}

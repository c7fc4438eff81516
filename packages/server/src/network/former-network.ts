import type { RuntimeCa, SyntheticAddress } from '@holt/egress'
import type { RuntimeRef } from '../runtimes/find-runtime.ts'
import { readSealed } from '../sealing/sealed-values.ts'
import type { Service } from '../service.ts'
import type { Queries } from '../store/open-store.ts'
import { knownAddresses } from './address-book.ts'
import { caPurpose, type DecidedNetwork } from './decide-network.ts'
import { currentPolicy, heldSecrets, networkRow } from './find-network.ts'

/**
 * What programs inside a runtime know of its network, and go on using where they go on in another
 * runtime.
 */
export interface FormerNetwork {
  /** The authority that they trust; null where the runtime never had a network. */
  readonly ca: RuntimeCa | null
  /** What stands for each secret, by the secret's id. One that is inside has none. */
  readonly placeholders: Readonly<Record<string, string>>
  readonly addresses: readonly SyntheticAddress[]
}

/** What programs inside a runtime know of its network now. */
export async function formerNetwork(service: Service, ref: RuntimeRef): Promise<FormerNetwork> {
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
 * The network of a runtime for another one that goes on where it stands: the same in everything.
 */
export async function copyNetwork(service: Service, ref: RuntimeRef): Promise<DecidedNetwork> {
  const rules = await copyRules(service.store.db, ref)
  const { ca, addresses } = await formerNetwork(service, ref)
  return { ...rules, ca, addresses }
}

/** The policy and the secrets of a runtime's network. Only reads rows. */
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

async function authorityOf({ store, masterKeys }: Service, ref: RuntimeRef): Promise<RuntimeCa | null> {
  const { projectId, runtimeId: ownerId } = ref
  const row = await networkRow(store.db, ref)
  if (row === undefined) return null
  const privateKeyPem = await readSealed(store.db, masterKeys, { projectId, ownerId, purpose: caPurpose })
  return privateKeyPem === null ? null : { certificatePem: row.ca_certificate, privateKeyPem }
}

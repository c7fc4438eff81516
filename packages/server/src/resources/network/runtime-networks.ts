import { KeyedLock } from '@holt/async'
import { type AttachedSecret, type AttachOptions, makeEffectivePolicy, type RuntimeEgress } from '@holt/egress'
import type { GuestNetwork } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import type { RuntimeRef } from '../../foundation/rows/find-runtime.ts'
import { endedStates, hasWayOut } from '../../foundation/rows/states.ts'
import { removeSealed } from '../../foundation/sealing/sealed-values.ts'
import type { RuntimeNetworkRow } from '../../foundation/store/tables.ts'
import type { Resources } from '../resources.ts'
import { type HeldSecret, heldSecrets } from '../secrets/held-secrets.ts'
import { type AddressBook, knownAddresses } from './address-book.ts'
import { caPurpose } from './decide-network.ts'
import { type CurrentPolicy, currentPolicy, networkRow } from './find-network.ts'

/** The gateway that attaches runtimes. */
export interface EgressGateway {
  attach(options: AttachOptions): RuntimeEgress
}

/** The guest's settings of its network. The engine decides how the guest gets its device. */
export const guestSide = { resolver: '198.18.0.1', address: '198.18.0.2', mtu: 65_000 } as const

/** The network that a runtime should have now. */
interface Desired {
  readonly row: RuntimeNetworkRow
  readonly policy: CurrentPolicy
  readonly secrets: readonly HeldSecret[]
}

/**
 * The open networks of this process. The database holds the desired state, and `sync` applies it to
 * the gateway. The last change thus wins in any order. A runtime without an entry reaches nothing,
 * because nothing listens.
 */
export class RuntimeNetworks {
  readonly #service: () => Resources
  readonly #gateway: EgressGateway
  readonly #addresses: AddressBook
  readonly #open = new Map<string, RuntimeEgress>()
  readonly #lock = new KeyedLock()
  readonly #changes = new KeyedLock()

  constructor(service: () => Resources, { gateway, addresses }: { gateway: EgressGateway; addresses: AddressBook }) {
    this.#service = service
    this.#gateway = gateway
    this.#addresses = addresses
  }

  /** Returns the egress of a runtime, or null if it has none. */
  egressOf(runtimeId: string): RuntimeEgress | null {
    return this.#open.get(runtimeId) ?? null
  }

  /** The open connections of all runtimes. */
  get openConnections(): number {
    return [...this.#open.values()].reduce((sum, egress) => sum + egress.openConnections, 0)
  }

  /**
   * Opens, changes or closes a runtime's network to match the database. Resolves when that is in
   * force.
   */
  async sync(ref: RuntimeRef): Promise<void> {
    await this.#lock.run(ref.runtimeId, async () => {
      const desired = await this.#desired(ref)
      if (desired === null) return this.#close(ref.runtimeId)
      try {
        const open = this.#open.get(ref.runtimeId)
        if (open === undefined) await this.#attach(ref, desired)
        else open.update({ policy: makeEffectivePolicy(desired.policy.body), secrets: this.#attached(ref, desired) })
      } catch (error) {
        // If the allowed hosts are unknown, nothing is allowed.
        await this.#close(ref.runtimeId)
        throw error
      }
    })
  }

  /** Runs a change of a runtime's network under a lock. */
  alone<Result>({ runtimeId }: RuntimeRef, change: () => Promise<Result>): Promise<Result> {
    return this.#changes.run(runtimeId, change)
  }

  /**
   * Returns the network settings for a runtime's guest, or null for none. The runtime's network
   * must be open.
   */
  async guestNetwork(ref: RuntimeRef, signal: AbortSignal): Promise<GuestNetwork | null> {
    const { store } = this.#service()
    const row = await networkRow(store.db, ref)
    if (row === undefined || (row.policy_id === null && row.inline_json === null)) return null
    const tun = await this.#ability().prepareTun(ref.runtimeId, signal)
    return { ...guestSide, tun, ca_certificates: [row.ca_certificate] }
  }

  /** Applies a stored policy to all its runtimes on this host. */
  async policyChanged(projectId: string, policyId: string): Promise<void> {
    const { store, thisHost } = this.#service()
    const rows = await store.db
      .selectFrom('runtime_networks')
      .innerJoin('runtimes', 'runtimes.runtime_id', 'runtime_networks.runtime_id')
      .select('runtime_networks.runtime_id')
      .where('runtime_networks.project_id', '=', projectId)
      .where('runtime_networks.policy_id', '=', policyId)
      .where('runtimes.host_id', '=', thisHost.hostId)
      .where('runtimes.state', 'not in', endedStates)
      .execute()
    await this.#syncAll(projectId, rows)
  }

  /** Applies a secret to all its runtimes on this host. */
  async secretChanged(projectId: string, secretId: string): Promise<void> {
    const { store, thisHost } = this.#service()
    const rows = await store.db
      .selectFrom('runtime_secrets')
      .innerJoin('runtimes', 'runtimes.runtime_id', 'runtime_secrets.runtime_id')
      .select('runtime_secrets.runtime_id')
      .where('runtime_secrets.project_id', '=', projectId)
      .where('runtime_secrets.secret_id', '=', secretId)
      .where('runtimes.host_id', '=', thisHost.hostId)
      .where('runtimes.state', 'not in', endedStates)
      .execute()
    await this.#syncAll(projectId, rows)
  }

  /** Writes the addresses that names have received so far. */
  async flushAddresses(): Promise<void> {
    await this.#addresses.flush()
  }

  /**
   * Closes a runtime's network permanently, and removes the key of its authority. Succeeds if there
   * is none.
   */
  async forget({ projectId, runtimeId }: RuntimeRef): Promise<void> {
    const { store, decisions } = this.#service()
    await this.#lock.run(runtimeId, async () => {
      const had = this.#open.has(runtimeId)
      await this.#close(runtimeId)
      if (had) await decisions.flush()
      await removeSealed(store.db, projectId, runtimeId)
    })
  }

  /** Closes all networks, like the end of the process. The next process opens them again. */
  async closeAll(): Promise<void> {
    for (const runtimeId of [...this.#open.keys()]) await this.#lock.run(runtimeId, () => this.#close(runtimeId))
    await this.#addresses.flush()
  }

  /** Syncs several runtimes. A failed network is closed and logged, and the others continue. */
  async #syncAll(projectId: string, rows: readonly { readonly runtime_id: string }[]): Promise<void> {
    const { log } = this.#service()
    const ends = await Promise.allSettled(rows.map(({ runtime_id }) => this.sync({ projectId, runtimeId: runtime_id })))
    for (const [index, end] of ends.entries()) {
      if (end.status === 'rejected')
        log.error(
          { err: end.reason, runtime_id: rows[index]?.runtime_id },
          'a network could not be changed, so it was closed',
        )
    }
  }

  /**
   * Reads the desired network. Returns null if the runtime is not on the host or may reach nothing.
   */
  async #desired(ref: RuntimeRef): Promise<Desired | null> {
    const { store, thisHost } = this.#service()
    const { db } = store
    const runtime = await db
      .selectFrom('runtimes')
      .select('state')
      .where('project_id', '=', ref.projectId)
      .where('runtime_id', '=', ref.runtimeId)
      .where('host_id', '=', thisHost.hostId)
      .executeTakeFirst()
    if (runtime === undefined || !hasWayOut(runtime.state)) return null
    const row = await networkRow(db, ref)
    const policy = await currentPolicy(db, row)
    return row === undefined || policy === null ? null : { row, policy, secrets: await heldSecrets(db, ref) }
  }

  async #attach(ref: RuntimeRef, desired: Desired): Promise<void> {
    const { store, sealedValues, decisions, metrics } = this.#service()
    const { projectId, runtimeId } = ref
    const privateKeyPem = await sealedValues.read(store.db, { projectId, ownerId: runtimeId, purpose: caPurpose })
    if (privateKeyPem === null) throw new Error(`the key of the authority of ${runtimeId} is not there`)
    const ability = this.#ability()
    const write = await decisions.begin(ref)
    const egress = this.#gateway.attach({
      id: runtimeId,
      policy: makeEffectivePolicy(desired.policy.body),
      secrets: this.#attached(ref, desired),
      ca: { certificatePem: desired.row.ca_certificate, privateKeyPem },
      addresses: {
        known: await knownAddresses(store.db, runtimeId),
        onAssigned: (assigned) => this.#addresses.add(runtimeId, assigned),
      },
      onDecision: (decision) => {
        metrics.gateway.noteDecision(decision)
        write(decision)
      },
    })
    this.#open.set(runtimeId, egress)
    await ability.open(runtimeId, (connection) => egress.accept(connection))
  }

  async #close(runtimeId: string): Promise<void> {
    const egress = this.#open.get(runtimeId)
    if (egress === undefined) return
    this.#open.delete(runtimeId)
    egress.close()
    await this.#service().engine.ability('egress')?.close(runtimeId)
  }

  /**
   * Returns the secrets that the gateway inserts. A deleted secret stays known, so that its
   * placeholder is refused and not passed on.
   */
  #attached({ projectId, runtimeId }: RuntimeRef, { secrets }: Desired): AttachedSecret[] {
    const service = this.#service()
    return secrets.flatMap(({ secret_id, name, hosts_json, header, format, placeholder }) => {
      if (placeholder === null || header === null || format === null) return []
      const value = () => service.secretValue(secret_id, { projectId, runtimeId })
      return [{ name, hosts: JSON.parse(hosts_json), header, format, placeholder, value }]
    })
  }

  #ability() {
    const ability = this.#service().engine.ability('egress')
    if (ability === null) throw new HoltError('not_supported_here', 'Runtimes of this host cannot have a network.')
    return ability
  }
}

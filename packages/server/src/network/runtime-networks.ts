import { type AttachedSecret, type AttachOptions, makeEffectivePolicy, type RuntimeEgress } from '@holt/egress'
import type { GuestNetwork } from '@holt/engine'
import { HoltError, type RuntimeState } from '@holt/protocol'
import { KeyedLock } from '../keyed-lock.ts'
import type { RuntimeRef } from '../runtimes/find-runtime.ts'
import { endedStates } from '../runtimes/states.ts'
import { readSealed, removeSealed } from '../sealing/sealed-values.ts'
import { secretValue } from '../secrets/secret-values.ts'
import type { Service } from '../service.ts'
import type { RuntimeNetworkRow } from '../store/tables.ts'
import { type AddressBook, knownAddresses } from './address-book.ts'
import { caPurpose } from './decide-network.ts'
import { type CurrentPolicy, currentPolicy, type HeldSecret, heldSecrets, networkRow } from './find-network.ts'

/** What hands runtimes their way out. */
export interface EgressGateway {
  attach(options: AttachOptions): RuntimeEgress
}

/** What a guest is told of its network; how it gets its device is the engine's word. */
export const guestSide = { resolver: '198.18.0.1', address: '198.18.0.2', mtu: 65_000 } as const

/** The states in which a runtime is on the host, and may reach what its policy allows. */
const hasWayOut: ReadonlySet<RuntimeState> = new Set(['starting', 'running', 'pausing', 'resuming'])

/** What a runtime's network should be now. */
interface Desired {
  readonly row: RuntimeNetworkRow
  readonly policy: CurrentPolicy
  readonly secrets: readonly HeldSecret[]
}

/**
 * The ways out that are open in this process. What should be stands in the database; `sync` brings
 * the gateway in line with it, so that the last change wins whatever order they come in. A runtime
 * that has none here reaches nothing: nothing listens.
 */
export class RuntimeNetworks {
  readonly #service: () => Service
  readonly #gateway: EgressGateway
  readonly #addresses: AddressBook
  readonly #open = new Map<string, RuntimeEgress>()
  readonly #lock = new KeyedLock()
  readonly #changes = new KeyedLock()

  constructor(service: () => Service, { gateway, addresses }: { gateway: EgressGateway; addresses: AddressBook }) {
    this.#service = service
    this.#gateway = gateway
    this.#addresses = addresses
  }

  /** The way out of a runtime; null where it has none. */
  egressOf(runtimeId: string): RuntimeEgress | null {
    return this.#open.get(runtimeId) ?? null
  }

  /** Connections of all runtimes that are open now. */
  get openConnections(): number {
    return [...this.#open.values()].reduce((sum, egress) => sum + egress.openConnections, 0)
  }

  /**
   * Opens, changes or closes a runtime's way out, as the database has it. Resolves when that is in
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
        // Not knowing what is allowed means nothing is.
        await this.#close(ref.runtimeId)
        throw error
      }
    })
  }

  /** Runs a change of one runtime's network while no other does. */
  alone<Result>({ runtimeId }: RuntimeRef, change: () => Promise<Result>): Promise<Result> {
    return this.#changes.run(runtimeId, change)
  }

  /**
   * What the guest of a runtime is to be told of its network now; null for none. Its way out must
   * be open.
   */
  async guestNetwork(ref: RuntimeRef, signal: AbortSignal): Promise<GuestNetwork | null> {
    const { store } = this.#service()
    const row = await networkRow(store.db, ref)
    if (row === undefined || (row.policy_id === null && row.inline_json === null)) return null
    const tun = await this.#ability().prepareTun(ref.runtimeId, signal)
    return { ...guestSide, tun, ca_certificates: [row.ca_certificate] }
  }

  /** Brings every runtime that has a stored policy in line with it. */
  async policyChanged(projectId: string, policyId: string): Promise<void> {
    const { store } = this.#service()
    const rows = await store.db
      .selectFrom('runtime_networks')
      .innerJoin('runtimes', 'runtimes.runtime_id', 'runtime_networks.runtime_id')
      .select('runtime_networks.runtime_id')
      .where('runtime_networks.project_id', '=', projectId)
      .where('runtime_networks.policy_id', '=', policyId)
      .where('runtimes.state', 'not in', endedStates)
      .execute()
    await this.#syncAll(projectId, rows)
  }

  /** Brings every runtime that has a secret in line with it. */
  async secretChanged(projectId: string, secretId: string): Promise<void> {
    const { store } = this.#service()
    const rows = await store.db
      .selectFrom('runtime_secrets')
      .innerJoin('runtimes', 'runtimes.runtime_id', 'runtime_secrets.runtime_id')
      .select('runtime_secrets.runtime_id')
      .where('runtime_secrets.project_id', '=', projectId)
      .where('runtime_secrets.secret_id', '=', secretId)
      .where('runtimes.state', 'not in', endedStates)
      .execute()
    await this.#syncAll(projectId, rows)
  }

  /** Writes down the addresses that names have been handed out as until now. */
  async flushAddresses(): Promise<void> {
    await this.#addresses.flush()
  }

  /**
   * Closes a runtime's way out for good: it ends, and the key of its authority with it. None is
   * success.
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

  /**
   * Lets go of every way out, as the end of the process does. They are opened again by the next
   * one.
   */
  async closeAll(): Promise<void> {
    for (const runtimeId of [...this.#open.keys()]) await this.#lock.run(runtimeId, () => this.#close(runtimeId))
    await this.#addresses.flush()
  }

  /** One that fails does not keep the others; it is closed, and said in the log. */
  async #syncAll(projectId: string, rows: readonly { readonly runtime_id: string }[]): Promise<void> {
    const { log } = this.#service()
    const ends = await Promise.allSettled(rows.map(({ runtime_id }) => this.sync({ projectId, runtimeId: runtime_id })))
    for (const [index, end] of ends.entries()) {
      if (end.status === 'rejected')
        log.error(
          { err: end.reason, runtime_id: rows[index]?.runtime_id },
          'a network could not be changed; it is closed',
        )
    }
  }

  /** What the database says; null where the runtime is not on the host or may reach nothing. */
  async #desired(ref: RuntimeRef): Promise<Desired | null> {
    const { db } = this.#service().store
    const runtime = await db
      .selectFrom('runtimes')
      .select('state')
      .where('project_id', '=', ref.projectId)
      .where('runtime_id', '=', ref.runtimeId)
      .executeTakeFirst()
    if (runtime === undefined || !hasWayOut.has(runtime.state)) return null
    const row = await networkRow(db, ref)
    const policy = await currentPolicy(db, row)
    return row === undefined || policy === null ? null : { row, policy, secrets: await heldSecrets(db, ref) }
  }

  async #attach(ref: RuntimeRef, desired: Desired): Promise<void> {
    const { store, masterKeys, decisions, metrics } = this.#service()
    const { projectId, runtimeId } = ref
    const privateKeyPem = await readSealed(store.db, masterKeys, { projectId, ownerId: runtimeId, purpose: caPurpose })
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
   * The secrets that the gateway puts in. One that is deleted stays known, so that its placeholder
   * is refused and not passed on.
   */
  #attached({ projectId, runtimeId }: RuntimeRef, { secrets }: Desired): AttachedSecret[] {
    const service = this.#service()
    return secrets.flatMap(({ secret_id, name, hosts_json, header, format, placeholder }) => {
      if (placeholder === null || header === null || format === null) return []
      const value = () => secretValue(service, secret_id, { projectId, runtimeId })
      return [{ name, hosts: JSON.parse(hosts_json), header, format, placeholder, value }]
    })
  }

  #ability() {
    const ability = this.#service().engine.ability('egress')
    if (ability === null) throw new HoltError('not_supported_here', 'Runtimes of this host cannot have a network.')
    return ability
  }
}

import { mkdir } from 'node:fs/promises'
import type { ImageDigest, Isolation, MemoryKills, Observed, RuntimeId, RuntimeSpec } from '@holt/engine'
import { EgressListener } from '../egress/egress-listener.ts'
import type { RuntimeEgress } from '../egress/runtime-egress.ts'
import { syncPath } from '../files/durable-files.ts'
import type { Layout, RuntimePaths } from '../installation/layout.ts'
import type { Log } from '../installation/options.ts'
import { GuestListener } from '../link/guest-listener.ts'
import { IdClaims } from './id-claims.ts'
import { pickIdRange, ROOT } from './id-ranges.ts'
import type { Observers } from './observers.ts'
import { observedOf, type RuntimeRecord, writeRecord } from './runtime-record.ts'

/** A runtime that this engine knows. Only the registry replaces `record`. */
export interface Runtime extends RuntimeEgress {
  readonly paths: RuntimePaths
  readonly listener: GuestListener
  record: RuntimeRecord
  /** True while the runtime is frozen. Only its cgroup is frozen. */
  frozen: boolean
  /** The processes that were killed because the runtime was out of memory. */
  memoryKills: MemoryKills
  /**
   * True while the runtime uses more memory than its limit. If it ends then, that is the reason.
   */
  lacksMemory: boolean
  /**
   * Aborts a running `ensure` or `take` of the runtime when its removal begins. A removal that
   * fails replaces it.
   */
  cancel: AbortController
}

/** The values that the registry needs for a first record. */
export interface RegistryIdentity {
  readonly installationId: string
  readonly bootId: string
  readonly guest: string
}

/**
 * The runtimes of this engine, in memory and on disk. A record is written before everything else of
 * its runtime and removed last.
 */
export class RuntimeRegistry {
  readonly #layout: Layout
  readonly #identity: RegistryIdentity
  readonly #observers: Observers
  readonly #log: Log
  readonly #runtimes = new Map<RuntimeId, Runtime>()
  readonly #claims: IdClaims
  /** The ranges of ids of runtimes that are about to be adopted. */
  readonly #picked = new Set<number>()
  /** Called when a runtime's connection ends. */
  onDrop: (id: RuntimeId) => void = () => {}
  /** Called when a runtime begins to run, before observers are informed. */
  onRunning: (runtime: Runtime) => Promise<void> = async () => {}

  constructor(layout: Layout, identity: RegistryIdentity, observers: Observers, log: Log) {
    this.#layout = layout
    this.#identity = identity
    this.#observers = observers
    this.#log = log
    this.#claims = new IdClaims(layout.runtimes)
  }

  get(id: RuntimeId): Runtime | undefined {
    return this.#runtimes.get(id)
  }

  all(): readonly Runtime[] {
    return [...this.#runtimes.values()]
  }

  observed(): Observed[] {
    return this.all().map(observedOf)
  }

  /** Returns true if a runtime uses this image, in this class if one is given. */
  uses(digest: ImageDigest, isolation?: Isolation): boolean {
    return this.all().some(
      ({ record: { spec } }) =>
        spec.imageDigest === digest && (isolation === undefined || spec.isolation === isolation),
    )
  }

  /** Records a runtime that is to be made. */
  async admit(spec: RuntimeSpec): Promise<Runtime> {
    const earlier = this.get(spec.id)
    if (earlier !== undefined) await this.releaseIds(earlier)
    const firstId = spec.isolation === 'container' ? await this.#takeIds(spec.id) : null
    const record: RuntimeRecord = {
      format: 1,
      ...this.#identity,
      spec,
      firstId,
      state: 'preparing',
      restored: false,
      fallback: null,
      process: null,
      ending: null,
    }
    const runtime = this.adopt(record)
    if (firstId !== null) this.#picked.delete(firstId)
    await mkdir(runtime.paths.dir, { recursive: true, mode: 0o700 })
    await writeRecord(runtime.paths.record, record, false)
    this.#observers.tellPresent(observedOf(runtime))
    return runtime
  }

  async #takeIds(id: RuntimeId): Promise<number> {
    const record = this.#layout.runtime(id).record
    const taken = new Set(this.all().flatMap((other) => (other.paths.id === id ? [] : [other.record.firstId])))
    return pickIdRange(this.#identity.installationId, async (firstId) => {
      if (taken.has(firstId) || this.#picked.has(firstId)) return false
      this.#picked.add(firstId)
      if (await this.#claims.claim(firstId, record)) return true
      this.#picked.delete(firstId)
      return false
    })
  }

  /**
   * Claims the ranges of ids for the runtimes of an earlier engine. Releases the claims that belong
   * to no runtime.
   */
  async claimIds(): Promise<void> {
    for (const { record, paths } of this.all())
      if (record.firstId !== null && record.state !== 'ended') await this.#claims.claim(record.firstId, paths.record)
    await this.#claims.releaseOthers(new Set(this.all().map(({ paths }) => paths.record)))
  }

  /** Releases the range of ids of a runtime whose files are gone. */
  async releaseIds({ record: { firstId }, paths }: Runtime): Promise<void> {
    if (firstId !== null) await this.#claims.release(firstId, paths.record)
  }

  /** Adds a runtime whose record is already on disk. */
  adopt(record: RuntimeRecord): Runtime {
    const { id } = record.spec
    const paths = this.#layout.runtime(id)
    const owner = record.firstId ?? ROOT
    const listener = new GuestListener(paths, this.#log, { owner, onDrop: () => this.onDrop(id) })
    const egress = new EgressListener(paths, this.#log, owner)
    const runtime: Runtime = {
      paths,
      listener,
      egress,
      tunOffer: null,
      record,
      frozen: false,
      memoryKills: { count: 0, last: null },
      lacksMemory: false,
      cancel: new AbortController(),
    }
    this.#runtimes.set(id, runtime)
    return runtime
  }

  /** Records a change and informs the observers. */
  async change(runtime: Runtime, change: Partial<RuntimeRecord>): Promise<void> {
    runtime.record = { ...runtime.record, ...change }
    await writeRecord(runtime.paths.record, runtime.record, false)
    if (change.state === 'running') await this.onRunning(runtime)
    this.#observers.tellPresent(observedOf(runtime))
  }

  /** Notes further processes that were killed for memory, and informs the observers. */
  noteMemoryKills(runtime: Runtime, more: number, last: MemoryKills['last']): void {
    runtime.memoryKills = { count: runtime.memoryKills.count + more, last }
    this.#observers.tellPresent(observedOf(runtime))
  }

  /** Notes that a runtime is frozen or thawed, and informs the observers. */
  setFrozen(runtime: Runtime, frozen: boolean): void {
    if (runtime.frozen === frozen) return
    runtime.frozen = frozen
    this.#observers.tellPresent(observedOf(runtime))
  }

  /**
   * Makes the record survive a power cut. A runtime that the power cut ends is then reported as
   * ended, not forgotten.
   */
  async sync(runtime: Runtime): Promise<void> {
    await syncPath(runtime.paths.record)
    await syncPath(runtime.paths.dir)
    await syncPath(this.#layout.runtimes)
  }

  /** Forgets a runtime whose files are gone. */
  drop(id: RuntimeId): void {
    if (this.#runtimes.delete(id)) this.#observers.tellAbsent(id)
  }
}

import { mkdir } from 'node:fs/promises'
import type { ImageDigest, Isolation, Observed, RuntimeId, RuntimeSpec } from '@holt/engine'
import { EgressDoor } from '../egress/egress-door.ts'
import type { TunOffer } from '../egress/offer-tun.ts'
import type { Layout, RuntimePaths } from '../layout.ts'
import { GuestDoor } from '../link/guest-door.ts'
import type { Log } from '../options.ts'
import { syncPath } from '../tools/durable-files.ts'
import { pickIdRange, ROOT } from './id-ranges.ts'
import type { Observers } from './observers.ts'
import { observedOf, type RuntimeRecord, writeRecord } from './runtime-record.ts'

/** A runtime this engine knows. Only the registry replaces `record`. */
export interface Runtime {
  readonly paths: RuntimePaths
  readonly door: GuestDoor
  readonly egress: EgressDoor
  /** The tun device that was made last for a guest to fetch. */
  tunOffer: TunOffer | null
  record: RuntimeRecord
  /** True while it is frozen. Only its cgroup is frozen. */
  frozen: boolean
  /** Ends an `ensure` or a `take` that is at work on it, for it is being removed. A removal that fails puts a new one in its place. */
  cancel: AbortController
}

/** The values that the registry needs for a first record. */
export interface RegistryIdentity {
  readonly installationId: string
  readonly bootId: string
  readonly guest: string
}

/** All runtimes of this engine, in memory and on disk. A record is on disk before anything else of its runtime is, and goes last. */
export class RuntimeRegistry {
  readonly #layout: Layout
  readonly #identity: RegistryIdentity
  readonly #observers: Observers
  readonly #log: Log
  readonly #runtimes = new Map<RuntimeId, Runtime>()
  /** Called when a runtime's connection ends. */
  onDrop: (id: RuntimeId) => void = () => {}

  constructor(layout: Layout, identity: RegistryIdentity, observers: Observers, log: Log) {
    this.#layout = layout
    this.#identity = identity
    this.#observers = observers
    this.#log = log
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

  /** True while a runtime is made of this image, of this class where one is given. */
  uses(digest: ImageDigest, isolation?: Isolation): boolean {
    return this.all().some(
      ({ record: { spec } }) =>
        spec.imageDigest === digest && (isolation === undefined || spec.isolation === isolation),
    )
  }

  /** Writes down that this runtime is to be made. */
  async admit(spec: RuntimeSpec): Promise<Runtime> {
    const record: RuntimeRecord = {
      format: 1,
      ...this.#identity,
      spec,
      firstId: spec.isolation === 'container' ? this.#freeIds() : null,
      state: 'preparing',
      restored: false,
      process: null,
      ending: null,
    }
    const runtime = this.adopt(record)
    await mkdir(runtime.paths.dir, { recursive: true, mode: 0o700 })
    await writeRecord(runtime.paths.record, record, false)
    this.#observers.tellPresent(observedOf(runtime))
    return runtime
  }

  #freeIds(): number {
    const taken = new Set(this.all().map(({ record }) => record.firstId))
    return pickIdRange(this.#identity.installationId, (firstId) => taken.has(firstId))
  }

  /** Takes in a runtime whose record is on disk already. */
  adopt(record: RuntimeRecord): Runtime {
    const { id } = record.spec
    const paths = this.#layout.runtime(id)
    const owner = record.firstId ?? ROOT
    const door = new GuestDoor(paths, this.#log, { owner, onDrop: () => this.onDrop(id) })
    const egress = new EgressDoor(paths, this.#log, owner)
    const runtime: Runtime = {
      paths,
      door,
      egress,
      tunOffer: null,
      record,
      frozen: false,
      cancel: new AbortController(),
    }
    this.#runtimes.set(id, runtime)
    return runtime
  }

  /** Writes down what has changed, and tells who observes. */
  async change(runtime: Runtime, change: Partial<RuntimeRecord>): Promise<void> {
    runtime.record = { ...runtime.record, ...change }
    await writeRecord(runtime.paths.record, runtime.record, false)
    this.#observers.tellPresent(observedOf(runtime))
  }

  /** Notes that a runtime stands still, or goes on, and tells who observes. */
  setFrozen(runtime: Runtime, frozen: boolean): void {
    if (runtime.frozen === frozen) return
    runtime.frozen = frozen
    this.#observers.tellPresent(observedOf(runtime))
  }

  /** Makes the record survive a power cut, so that a runtime which did not is reported as ended and not forgotten. */
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

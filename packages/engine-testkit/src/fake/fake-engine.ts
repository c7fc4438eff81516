import type { Duplex } from 'node:stream'
import {
  type Abilities,
  type Ending,
  type Engine,
  EngineError,
  type EngineFacts,
  type GuestLink,
  type Observation,
  type Observed,
  type RuntimeId,
  type RuntimeSpec,
  type RuntimeUsage,
} from '@holt/engine'
import { FakeUsage, fakeDisks, fakeFreezer } from './fake-abilities.ts'
import { FakeCheckpoints } from './fake-checkpoints.ts'
import { FakeEgress } from './fake-egress.ts'
import type { BeforeVerb, FakeEngineOptions } from './fake-engine-options.ts'
import { FakeImages } from './fake-images.ts'
import { FakeRuntimes } from './fake-runtimes.ts'
import { FakeTransfer } from './fake-transfer.ts'
import { bootFrom, type FakeGuest } from './guest/fake-guest.ts'

/**
 * An engine in memory: the whole contract, with a small guest inside (`FakeGuest`). It is for tests
 * of the layers above engines, and passes the same conformance suite as the real ones. A test may
 * `end` a runtime as a host would.
 */
export class FakeEngine implements Engine {
  readonly #runtimes = new FakeRuntimes()
  readonly #egress = new FakeEgress(this.#runtimes)
  readonly #images = new FakeImages(this.#runtimes)
  readonly #usage = new FakeUsage(this.#runtimes)
  readonly #checkpoints: FakeCheckpoints
  readonly #abilities: Abilities
  readonly #facts: Partial<EngineFacts>
  readonly #before: BeforeVerb

  constructor({ facts = {}, canGrow = true, classId = 'fake', before = () => {} }: FakeEngineOptions = {}) {
    this.#facts = facts
    this.#before = before
    const parts = { runtimes: this.#runtimes, before }
    this.#checkpoints = new FakeCheckpoints({ ...parts, drop: (id) => this.#drop(id) })
    this.#abilities = {
      images: this.#images.store,
      checkpoints: this.#checkpoints.store,
      egress: this.#egress,
      disks: fakeDisks(parts, canGrow),
      freezer: fakeFreezer(parts),
      usage: this.#usage,
      transfer: new FakeTransfer({ images: this.#images, checkpoints: this.#checkpoints, classId, before }),
    }
  }

  async describe(): Promise<EngineFacts> {
    return {
      engine: 'fake 0.2.0',
      arch: 'x64',
      cpus: 8,
      startsAtOnce: 8,
      memoryMiB: 64 * 1024,
      diskMiB: 2 * 1024 * 1024,
      diskFreeMiB: 1024 * 1024,
      isolation: {
        gvisor: { available: true, runner: 'fake', canCheckpoint: true },
        container: { available: true, runner: 'fake', canCheckpoint: false },
      },
      ...this.#facts,
    }
  }

  async ensure(spec: RuntimeSpec, signal: AbortSignal): Promise<void> {
    await this.#before('ensure', spec.id)
    signal.throwIfAborted()
    const existing = this.#runtimes.get(spec.id)
    if (existing !== null) {
      if (canonical(existing.observed.spec) !== canonical(spec))
        throw new EngineError('conflict', `${spec.id} exists with another spec`)
      if (existing.observed.state === 'ended') throw new EngineError('gone', `${spec.id} has ended`)
      return
    }
    const tree = this.#images.treeOf(spec.imageDigest)
    const restored = this.#checkpoints.restore(spec)
    const guest = restored ?? bootFrom(tree)
    guest.resume()
    const observed: Observed = {
      id: spec.id,
      spec,
      state: 'running',
      ending: null,
      restored: restored !== null,
      fallback: restored === null ? this.#checkpoints.fallbackOf(spec) : null,
      frozen: false,
      memoryKills: { count: 0, last: null },
    }
    this.#runtimes.set({ observed, guest })
  }

  observe(signal: AbortSignal): AsyncGenerator<Observation> {
    return this.#runtimes.observe(signal)
  }

  async inspect(id: RuntimeId): Promise<Observed | null> {
    return this.#runtimes.get(id)?.observed ?? null
  }

  async dial(id: RuntimeId, signal: AbortSignal): Promise<GuestLink> {
    await this.#before('dial', id)
    signal.throwIfAborted()
    return this.#runtimes.find(id).guest
  }

  async remove(id: RuntimeId, signal: AbortSignal): Promise<void> {
    await this.#before('remove', id)
    signal.throwIfAborted()
    await this.#drop(id)
  }

  ability<Name extends keyof Abilities>(name: Name): Abilities[Name] | null {
    return this.#abilities[name]
  }

  async close(): Promise<void> {
    this.#egress.closeAll()
  }

  /** Ends a runtime as its host would. Its guest is gone. */
  end(id: RuntimeId, ending: Ending): void {
    const runtime = this.#runtimes.get(id)
    if (runtime === null) return
    runtime.guest.stop()
    void this.#egress.close(id)
    this.#runtimes.change(runtime, { state: 'ended', ending })
  }

  /** Counts processes of a runtime as killed for memory. */
  killForMemory(id: RuntimeId, count: number, last: Observed['memoryKills']['last']): void {
    const runtime = this.#runtimes.get(id)
    if (runtime === null) return
    const before = runtime.observed.memoryKills.count
    this.#runtimes.change(runtime, { memoryKills: { count: before + count, last } })
  }

  /** Makes a checkpoint unusable. */
  spoil(checkpointId: string, problem: 'incompatible' | 'damaged'): void {
    this.#checkpoints.spoil(checkpointId, problem)
  }

  /** Sets the usage that the host measures for a runtime. */
  use(id: RuntimeId, usage: Partial<RuntimeUsage>): void {
    this.#usage.set(id, usage)
  }

  /** Returns the guest of a runtime, for inspection. */
  guest(id: RuntimeId): FakeGuest | null {
    return this.#runtimes.get(id)?.guest ?? null
  }

  /**
   * Dials the egress socket of a runtime as its guest would. Returns the guest's end of the
   * connection. Throws if nothing listens.
   */
  dialEgress(id: RuntimeId): Duplex {
    return this.#egress.dial(id)
  }

  async #drop(id: RuntimeId): Promise<void> {
    const runtime = this.#runtimes.get(id)
    if (runtime === null) return
    runtime.guest.stop()
    await this.#egress.close(id)
    this.#runtimes.delete(id)
  }
}

/** Returns the part of a spec that determines equality. */
function canonical({ restoreOnly: _, ...spec }: RuntimeSpec): string {
  return JSON.stringify(Object.entries(spec).sort(([a], [b]) => a.localeCompare(b)))
}

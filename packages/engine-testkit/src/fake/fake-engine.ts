import { createHash } from 'node:crypto'
import type { Duplex } from 'node:stream'
import {
  type Abilities,
  type CheckpointInfo,
  type Checkpoints,
  type Disks,
  type Ending,
  type Engine,
  EngineError,
  type EngineFacts,
  type Fallback,
  type Freezer,
  type GuestLink,
  type ImageDigest,
  type ImageInfo,
  type ImageStore,
  type Observation,
  type Observed,
  type RuntimeId,
  type RuntimeSpec,
  type RuntimeUsage,
  type Usage,
} from '@holt/engine'
import { FakeEgress } from './fake-egress.ts'
import { FakeGuest } from './guest/fake-guest.ts'

interface Entry {
  observed: Observed
  readonly guest: FakeGuest
}

/** The behaviour of a fake engine that a test may change. */
export interface FakeEngineOptions {
  readonly facts?: Partial<EngineFacts>
  /** False for a host that cannot grow disks. */
  readonly canGrow?: boolean
  /** Called at the beginning of a verb. The verb fails with the error that it throws. */
  readonly before?: (verb: FakeVerb, id: RuntimeId) => void | Promise<void>
}

/** The verbs that a test may fail or delay. `take` has the id of the runtime. */
export type FakeVerb = 'ensure' | 'dial' | 'remove' | 'take' | 'grow' | 'freeze' | 'thaw'

/** A checkpoint of a fake engine. */
interface FakeCheckpoint {
  readonly info: CheckpointInfo
  /** A guest that does not run. Restored runtimes get a copy of it. */
  readonly guest: FakeGuest
  problem: 'incompatible' | 'damaged' | null
}

/**
 * An engine in memory: the whole contract, with a small guest inside (`FakeGuest`). It is for tests
 * of the layers above engines, and passes the same conformance suite as the real ones. A test may
 * `end` a runtime as a host would.
 */
export class FakeEngine implements Engine {
  readonly #runtimes = new Map<RuntimeId, Entry>()
  readonly #images = new Map<ImageDigest, ImageInfo>()
  /** The exported and imported trees, with which runtimes start. */
  readonly #trees = new Map<ImageDigest, Buffer>()
  readonly #checkpoints = new Map<string, FakeCheckpoint>()
  readonly #usages = new Map<RuntimeId, Partial<RuntimeUsage>>()
  readonly #observers = new Set<(observation: Observation) => void>()
  readonly #options: FakeEngineOptions
  readonly #egress = new FakeEgress((id) => this.#runtimes.get(id)?.observed ?? null)

  constructor(options: FakeEngineOptions = {}) {
    this.#options = options
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
      ...this.#options.facts,
    }
  }

  async ensure(spec: RuntimeSpec, signal: AbortSignal): Promise<void> {
    await this.#options.before?.('ensure', spec.id)
    signal.throwIfAborted()
    const existing = this.#runtimes.get(spec.id)
    if (existing !== undefined) {
      if (canonical(existing.observed.spec) !== canonical(spec))
        throw new EngineError('conflict', `${spec.id} exists with another spec`)
      if (existing.observed.state === 'ended') throw new EngineError('gone', `${spec.id} has ended`)
      return
    }
    const image = this.#images.get(spec.imageDigest)
    if (image === undefined) throw new EngineError('not_found', `there is no image ${spec.imageDigest}`)
    const restored = this.#restore(spec)
    const guest = restored ?? this.#boot(spec.imageDigest)
    guest.resume()
    const observed: Observed = {
      id: spec.id,
      spec,
      state: 'running',
      ending: null,
      restored: restored !== null,
      fallback: restored === null ? this.#fallbackOf(spec) : null,
      frozen: false,
      memoryKills: { count: 0, last: null },
    }
    this.#set({ observed, guest })
  }

  /** Returns the guest of a spec's checkpoint; null for a cold boot. */
  #restore(spec: RuntimeSpec): FakeGuest | null {
    if (spec.checkpointId === null) return null
    const checkpoint = this.#checkpoints.get(spec.checkpointId)
    const problem = problemOf(checkpoint, spec)
    if (problem === null) return checkpoint?.guest.copy() ?? null
    if (spec.restoreOnly === true) throw new EngineError(problem, `checkpoint ${spec.checkpointId} cannot be restored`)
    return null
  }

  /** Returns the reason for a cold boot. Called for a spec that was booted cold. */
  #fallbackOf({ checkpointId }: RuntimeSpec): Fallback | null {
    if (checkpointId === null) return null
    const checkpoint = this.#checkpoints.get(checkpointId)
    const reason = checkpoint === undefined ? 'absent' : (checkpoint.problem ?? 'incompatible')
    return { reason, why: `checkpoint ${checkpointId} cannot be restored` }
  }

  #boot(imageDigest: ImageDigest): FakeGuest {
    const guest = new FakeGuest()
    const tree = this.#trees.get(imageDigest)
    if (tree !== undefined) guest.trees.load(tree)
    return guest
  }

  async *observe(signal: AbortSignal): AsyncGenerator<Observation> {
    const queue: Observation[] = [...this.#runtimes.values()].map(({ observed }) => ({ type: 'present', observed }))
    queue.push({ type: 'listed' })
    let wake = () => {}
    const observer = (observation: Observation) => {
      queue.push(observation)
      wake()
    }
    this.#observers.add(observer)
    const onAbort = () => wake()
    signal.addEventListener('abort', onAbort)
    try {
      while (!signal.aborted) {
        const next = queue.shift()
        if (next !== undefined) yield next
        else await new Promise<void>((resolve) => (wake = resolve))
      }
    } finally {
      this.#observers.delete(observer)
      signal.removeEventListener('abort', onAbort)
    }
  }

  async inspect(id: RuntimeId): Promise<Observed | null> {
    return this.#runtimes.get(id)?.observed ?? null
  }

  async dial(id: RuntimeId, signal: AbortSignal): Promise<GuestLink> {
    await this.#options.before?.('dial', id)
    signal.throwIfAborted()
    const entry = this.#runtimes.get(id)
    if (entry === undefined) throw new EngineError('not_found', `there is no runtime ${id}`)
    if (entry.observed.state === 'ended') throw new EngineError('gone', `${id} has ended`)
    return entry.guest
  }

  async remove(id: RuntimeId, signal: AbortSignal): Promise<void> {
    await this.#options.before?.('remove', id)
    signal.throwIfAborted()
    await this.#drop(id)
  }

  ability<Name extends keyof Abilities>(name: Name): Abilities[Name] | null {
    const abilities: Abilities = {
      images: this.#imageStore,
      checkpoints: this.#checkpointStore,
      egress: this.#egress,
      disks: { ...this.#disks, canGrow: this.#options.canGrow ?? true },
      freezer: this.#freezer,
      usage: this.#usage,
    }
    return abilities[name]
  }

  async close(): Promise<void> {
    this.#egress.closeAll()
  }

  /** Ends a runtime as its host would. Its guest is gone. */
  end(id: RuntimeId, ending: Ending): void {
    const entry = this.#runtimes.get(id)
    if (entry === undefined) return
    entry.guest.stop()
    void this.#egress.close(id)
    this.#set({ ...entry, observed: { ...entry.observed, state: 'ended', ending } })
  }

  /** Counts processes of a runtime as killed for memory. */
  killForMemory(id: RuntimeId, count: number, last: Observed['memoryKills']['last']): void {
    const entry = this.#runtimes.get(id)
    if (entry === undefined) return
    const memoryKills = { count: entry.observed.memoryKills.count + count, last }
    this.#set({ ...entry, observed: { ...entry.observed, memoryKills } })
  }

  /** Makes a checkpoint unusable. */
  spoil(checkpointId: string, problem: 'incompatible' | 'damaged'): void {
    const checkpoint = this.#checkpoints.get(checkpointId)
    if (checkpoint !== undefined) checkpoint.problem = problem
  }

  /** Sets the usage that the host measures for a runtime. */
  use(id: RuntimeId, usage: Partial<RuntimeUsage>): void {
    this.#usages.set(id, { ...this.#usages.get(id), ...usage })
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

  readonly #imageStore: ImageStore = {
    format: 'fake',
    import: async (tar, signal, { base, maxBytes = Number.POSITIVE_INFINITY, beforePublish } = {}) => {
      if (base !== undefined && !this.#images.has(base)) throw new EngineError('not_found', `there is no image ${base}`)
      const hash = createHash('sha256')
      const kept: Uint8Array[] = []
      let sizeBytes = 0
      for await (const chunk of tar) {
        signal.throwIfAborted()
        hash.update(chunk)
        sizeBytes += chunk.length
        if (sizeBytes > maxBytes) throw new EngineError('invalid', `the image would be larger than ${maxBytes} bytes`)
        if (base !== undefined) kept.push(chunk)
      }
      const info: ImageInfo = { digest: `sha256:${hash.digest('hex')}`, sizeBytes }
      await beforePublish?.(info.digest)
      this.#images.set(info.digest, info)
      if (base !== undefined) this.#trees.set(info.digest, Buffer.concat(kept))
      return info
    },
    has: async (digest) => this.#images.has(digest),
    list: async () => [...this.#images.values()],
    remove: async (digest) => {
      for (const { observed } of this.#runtimes.values()) {
        if (observed.spec.imageDigest === digest) throw new EngineError('in_use', `${observed.id} is made of ${digest}`)
      }
      this.#images.delete(digest)
      this.#trees.delete(digest)
    },
  }

  readonly #disks: Omit<Disks, 'canGrow'> = {
    usedBytes: async (id) => {
      return this.#running(id).guest.files.sizeBytes
    },
    grow: async (id, diskMiB, signal) => {
      await this.#options.before?.('grow', id)
      signal.throwIfAborted()
      const entry = this.#running(id)
      const { spec } = entry.observed
      if (diskMiB < spec.diskMiB) throw new EngineError('invalid', `the disk of ${id} has ${spec.diskMiB} MiB`)
      if (diskMiB > spec.diskMiB && this.#options.canGrow === false)
        throw new EngineError('not_supported', 'no disk grows here')
      this.#set({ ...entry, observed: { ...entry.observed, spec: { ...spec, diskMiB } } })
    },
  }

  readonly #freezer: Freezer = {
    freeze: async (id) => this.#setFrozen(id, true),
    thaw: async (id) => this.#setFrozen(id, false),
  }

  readonly #usage: Usage = {
    read: async (id) => {
      const { guest, observed } = this.#running(id)
      const { processes } = guest
      return {
        cpuUsec: 0,
        memoryBytes: 2 ** 20,
        diskBytes: guest.files.sizeBytes,
        processes: observed.spec.isolation === 'container' ? 1 + processes.size : null,
        ...this.#usages.get(id),
      }
    },
  }

  readonly #checkpointStore: Checkpoints = {
    take: async (runtime, checkpointId, signal, { goOn = false, onGoOn } = {}) => {
      await this.#options.before?.('take', runtime)
      signal.throwIfAborted()
      const done = this.#checkpoints.get(checkpointId)
      if (done !== undefined && !goOn && this.#runtimes.get(runtime)?.observed.state === 'running')
        throw new EngineError('conflict', `checkpoint ${checkpointId} exists and ${runtime} runs`)
      if (done !== undefined) return done.info
      const { observed, guest } = this.#running(runtime)
      const { imageDigest, isolation, cpu, memoryMiB, diskMiB } = observed.spec
      if (isolation !== 'gvisor') throw new EngineError('not_supported', `${isolation} has no checkpoints`)
      if (observed.frozen) throw new EngineError('conflict', `${runtime} is frozen`)
      const sizeBytes = 1 + guest.files.sizeBytes
      const info: CheckpointInfo = { checkpointId, imageDigest, isolation, cpu, memoryMiB, diskMiB, sizeBytes }
      this.#checkpoints.set(checkpointId, { info, guest: guest.copy(), problem: null })
      guest.disconnect()
      if (goOn) onGoOn?.()
      else await this.#drop(runtime)
      return info
    },
    usable: async (id) => {
      const checkpoint = this.#checkpoints.get(id)
      if (checkpoint === undefined) return { usable: false, problem: 'absent', why: `there is no checkpoint ${id}` }
      const { problem } = checkpoint
      return problem === null ? { usable: true } : { usable: false, problem, why: `a test has made it ${problem}` }
    },
    list: async () => [...this.#checkpoints.values()].map(({ info }) => info),
    remove: async (id) => {
      this.#checkpoints.delete(id)
    },
  }

  async #drop(id: RuntimeId): Promise<void> {
    const entry = this.#runtimes.get(id)
    if (entry === undefined) return
    entry.guest.stop()
    await this.#egress.close(id)
    this.#runtimes.delete(id)
    this.#tell({ type: 'absent', id })
  }

  #running(id: RuntimeId): Entry {
    const entry = this.#runtimes.get(id)
    if (entry === undefined) throw new EngineError('not_found', `there is no runtime ${id}`)
    if (entry.observed.state === 'ended') throw new EngineError('gone', `${id} has ended`)
    return entry
  }

  async #setFrozen(id: RuntimeId, frozen: boolean): Promise<void> {
    await this.#options.before?.(frozen ? 'freeze' : 'thaw', id)
    const entry = this.#running(id)
    if (frozen) entry.guest.freeze()
    else entry.guest.thaw()
    if (entry.observed.frozen !== frozen) this.#set({ ...entry, observed: { ...entry.observed, frozen } })
  }

  #set(entry: Entry): void {
    this.#runtimes.set(entry.observed.id, entry)
    this.#tell({ type: 'present', observed: entry.observed })
  }

  #tell(observation: Observation): void {
    for (const observer of this.#observers) observer(observation)
  }
}

/** Returns why a spec cannot be restored from a checkpoint; null if it can. */
function problemOf(checkpoint: FakeCheckpoint | undefined, spec: RuntimeSpec): 'incompatible' | 'damaged' | null {
  if (checkpoint === undefined) return 'damaged'
  const { info, problem } = checkpoint
  if (problem !== null) return problem
  const fits = (['isolation', 'imageDigest', 'cpu', 'memoryMiB'] as const).every((key) => info[key] === spec[key])
  return fits && spec.diskMiB >= info.diskMiB ? null : 'incompatible'
}

/** Returns the part of a spec that determines equality. */
function canonical({ restoreOnly: _, ...spec }: RuntimeSpec): string {
  return JSON.stringify(Object.entries(spec).sort(([a], [b]) => a.localeCompare(b)))
}

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
  type ImageDigest,
  type ImageInfo,
  type ImageStore,
  type Observation,
  type Observed,
  type RuntimeId,
  type RuntimeSpec,
} from '../contract.ts'
import type { GuestLink } from '../guest-link.ts'
import { FakeEgress } from './fake-egress.ts'
import { FakeGuest } from './fake-guest.ts'

interface Entry {
  observed: Observed
  readonly guest: FakeGuest
}

/** What a test may change in a fake engine. */
export interface FakeEngineOptions {
  readonly facts?: Partial<EngineFacts>
  /** Called at the beginning of a verb; what it throws is what the verb throws. */
  readonly before?: (verb: 'ensure' | 'dial' | 'remove', id: RuntimeId) => void | Promise<void>
}

/**
 * An engine in memory: the whole contract with a small guest inside (`FakeGuest`), for tests of what stands above engines.
 * It passes the same conformance suite as the real ones. A test may `end` a runtime as a host would.
 */
export class FakeEngine implements Engine {
  readonly #runtimes = new Map<RuntimeId, Entry>()
  readonly #images = new Map<ImageDigest, ImageInfo>()
  /** What was exported and imported; its runtimes begin with it. */
  readonly #trees = new Map<ImageDigest, Buffer>()
  readonly #checkpoints = new Map<string, CheckpointInfo>()
  readonly #observers = new Set<(observation: Observation) => void>()
  readonly #options: FakeEngineOptions
  readonly #egress = new FakeEgress((id) => this.#runtimes.get(id)?.observed ?? null)

  constructor(options: FakeEngineOptions = {}) {
    this.#options = options
  }

  async describe(): Promise<EngineFacts> {
    return {
      engine: 'fake 0.1.0',
      arch: 'x64',
      cpus: 8,
      memoryMiB: 64 * 1024,
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
    const restored = spec.checkpointId !== null && this.#checkpoints.has(spec.checkpointId)
    const guest = new FakeGuest()
    const tree = this.#trees.get(spec.imageDigest)
    if (tree !== undefined) guest.trees.load(tree)
    this.#set({ observed: { id: spec.id, spec, state: 'running', ending: null, restored }, guest })
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
    const entry = this.#runtimes.get(id)
    if (entry === undefined) return
    entry.guest.stop()
    await this.#egress.close(id)
    this.#runtimes.delete(id)
    this.#tell({ type: 'absent', id })
  }

  ability<Name extends keyof Abilities>(name: Name): Abilities[Name] | null {
    const abilities: Abilities = {
      images: this.#imageStore,
      checkpoints: this.#checkpointStore,
      egress: this.#egress,
      disks: this.#disks,
    }
    return abilities[name]
  }

  async close(): Promise<void> {
    this.#egress.closeAll()
  }

  /** Ends a runtime as its host would: its guest is gone. */
  end(id: RuntimeId, ending: Ending): void {
    const entry = this.#runtimes.get(id)
    if (entry === undefined) return
    entry.guest.stop()
    void this.#egress.close(id)
    this.#set({ ...entry, observed: { ...entry.observed, state: 'ended', ending } })
  }

  /** The guest of a runtime, to look inside. */
  guest(id: RuntimeId): FakeGuest | null {
    return this.#runtimes.get(id)?.guest ?? null
  }

  /** Dials the egress socket of a runtime as its guest would: the guest's end of the connection. Throws when nothing listens. */
  dialEgress(id: RuntimeId): Duplex {
    return this.#egress.dial(id)
  }

  readonly #imageStore: ImageStore = {
    format: 'fake',
    import: async (tar, signal, { base, maxBytes = Number.POSITIVE_INFINITY } = {}) => {
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

  readonly #disks: Disks = {
    usedBytes: async (id) => {
      const entry = this.#runtimes.get(id)
      if (entry === undefined) throw new EngineError('not_found', `there is no runtime ${id}`)
      if (entry.observed.state === 'ended') throw new EngineError('gone', `${id} has ended`)
      return entry.guest.files.sizeBytes
    },
  }

  readonly #checkpointStore: Checkpoints = {
    take: async (runtime, checkpointId, signal, { goOn = false } = {}) => {
      signal.throwIfAborted()
      const done = this.#checkpoints.get(checkpointId)
      if (done !== undefined) return done
      const entry = this.#runtimes.get(runtime)
      if (entry === undefined) throw new EngineError('not_found', `there is no runtime ${runtime}`)
      const { imageDigest, isolation, cpu, memoryMiB } = entry.observed.spec
      if (isolation !== 'gvisor') throw new EngineError('not_supported', `${isolation} has no checkpoints`)
      const info: CheckpointInfo = { checkpointId, imageDigest, isolation, cpu, memoryMiB, sizeBytes: 1 }
      this.#checkpoints.set(checkpointId, info)
      if (!goOn) this.end(runtime, { reason: 'crashed', message: 'its checkpoint was taken' })
      return info
    },
    usable: async (id) =>
      this.#checkpoints.has(id) ? { usable: true } : { usable: false, why: `there is no checkpoint ${id}` },
    list: async () => [...this.#checkpoints.values()],
    remove: async (id) => {
      this.#checkpoints.delete(id)
    },
  }

  #set(entry: Entry): void {
    this.#runtimes.set(entry.observed.id, entry)
    this.#tell({ type: 'present', observed: entry.observed })
  }

  #tell(observation: Observation): void {
    for (const observer of this.#observers) observer(observation)
  }
}

function canonical(spec: RuntimeSpec): string {
  return JSON.stringify(Object.entries(spec).sort(([a], [b]) => a.localeCompare(b)))
}

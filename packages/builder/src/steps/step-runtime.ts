import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type CheckpointInfo,
  type Ending,
  EngineError,
  type ImageDigest,
  type ImageInfo,
  type ImageStore,
  type RuntimeSpec,
} from '@holt/engine'
import { GuestClient } from '@holt/guest-client'
import type { BuildHost, BuildRuntime } from '../contract/build-contract.ts'
import { redialledLink } from './redialled-link.ts'

/**
 * The time for a boot or a restore, in milliseconds. It takes a second on a slow host, and large
 * states are read from the disk.
 */
const BOOT_TIMEOUT_MS = 120_000

/**
 * The time for a checkpoint, in milliseconds. Memory and files are written to the disk, which takes
 * seconds for each GiB.
 */
const CHECKPOINT_TIMEOUT_MS = 600_000

/** The time for removing a runtime, in milliseconds. It also runs after the build was cancelled. */
const REMOVE_TIMEOUT_MS = 30_000

/** The maximum size of an image in bytes, regardless of the template's disk. */
const MAX_IMAGE_BYTES = 64 * 2 ** 30

/** The maximum number of processes and threads of a build. */
const PIDS_MAX = 1024

/**
 * The pauses between checks for the reason of an end, in milliseconds. The connection of a runtime
 * breaks some moments before the engine knows the reason.
 */
const ENDING_KNOWN_MS = [20, 100, 300, 1000]

/** The state that a step's runtime starts with. */
export interface RuntimeOrigin {
  readonly imageDigest: ImageDigest
  /** The state of an earlier step, or null for the image as it is. */
  readonly checkpointId: string | null
}

/** Options for a step's runtime. */
interface RuntimeOptions {
  readonly diskMiB: number
  /**
   * True if its steps get the network that the build's policy allows. A runtime that only serves
   * files needs none.
   */
  readonly network: boolean
  readonly signal: AbortSignal
}

/** A runtime for steps of a build. */
export class StepRuntime implements AsyncDisposable {
  readonly guest: GuestClient
  readonly spec: RuntimeSpec
  readonly #host: BuildHost
  readonly #runtime: BuildRuntime
  readonly #network: boolean
  #networked = false
  #gone = false

  private constructor(
    guest: GuestClient,
    spec: RuntimeSpec,
    { host, runtime, network }: { host: BuildHost; runtime: BuildRuntime; network: boolean },
  ) {
    this.guest = guest
    this.spec = spec
    this.#host = host
    this.#runtime = runtime
    this.#network = network
  }

  /** Boots an image or continues from a state. Returns null if the state cannot be restored. */
  static async start(host: BuildHost, origin: RuntimeOrigin, options: RuntimeOptions): Promise<StepRuntime | null> {
    const signal = AbortSignal.any([options.signal, AbortSignal.timeout(BOOT_TIMEOUT_MS)])
    await using owned = new AsyncDisposableStack()
    const runtime = owned.use(await host.newRuntime())
    const spec: RuntimeSpec = {
      id: runtime.id,
      isolation: host.isolation,
      ...origin,
      ...host.stepSize,
      diskMiB: options.diskMiB,
      pidsMax: PIDS_MAX,
    }
    owned.defer(() => host.engine.remove(spec.id, AbortSignal.timeout(REMOVE_TIMEOUT_MS)))
    await host.engine.ensure(spec, signal)
    const restored = (await host.engine.inspect(spec.id))?.restored ?? false
    if (origin.checkpointId !== null && !restored) return null
    const guest = new GuestClient(await redialledLink(host.engine, spec.id, signal))
    const started = new StepRuntime(guest, spec, { host, runtime, network: options.network })
    if (!restored) await started.#bind(signal)
    await started.openNetwork(signal)
    owned.move()
    return started
  }

  /** Opens the network that the build's policy allows, unless it is open. */
  async openNetwork(signal: AbortSignal): Promise<void> {
    if (!this.#network || this.#networked) return
    const network = await this.#runtime.openNetwork(signal)
    if (network === null) return
    const { network: holds, problems } = await this.guest.setNetwork(network, signal)
    if (!holds) throw new EngineError('failed', `the build has no network: ${problems.join('; ')}`)
    this.#networked = true
  }

  /** Closes the network and removes its settings from the guest. */
  async closeNetwork(signal: AbortSignal): Promise<void> {
    if (!this.#networked) return
    await this.guest.setNetwork(null, signal)
    this.#networked = false
  }

  /** Returns the bytes in use on its disk, without those of an empty disk. */
  async usedBytes(): Promise<number> {
    const disks = this.#host.engine.ability('disks')
    return disks === null ? 0 : disks.usedBytes(this.spec.id)
  }

  /**
   * Returns true if the disk may have been too small for a step. A failed step has often removed
   * the files that it had written.
   */
  async mayBeFull(): Promise<boolean> {
    return (await this.usedBytes()) > 0.5 * this.spec.diskMiB * 2 ** 20
  }

  /**
   * Returns the reason why the runtime ended, once it is known. Returns null if the runtime still
   * runs.
   */
  async whyEnded(): Promise<Ending | null> {
    for (const waitMs of ENDING_KNOWN_MS) {
      const ending = await this.ending()
      if (ending !== null) return ending
      await sleep(waitMs)
    }
    return null
  }

  /** Returns the reason why the runtime ended, or null while it runs. */
  async ending(): Promise<Ending | null> {
    return (await this.#host.engine.inspect(this.spec.id))?.ending ?? null
  }

  /**
   * Takes a checkpoint, after which the runtime continues. Returns null if that is not possible.
   */
  async checkpoint(checkpointId: string, signal: AbortSignal): Promise<CheckpointInfo | null> {
    const checkpoints = this.#host.engine.ability('checkpoints')
    if (checkpoints === null || this.spec.isolation !== 'gvisor') return null
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(CHECKPOINT_TIMEOUT_MS)])
    await this.closeNetwork(bounded)
    await this.guest.quiesce(bounded)
    try {
      const info = await checkpoints.take(this.spec.id, checkpointId, bounded, { leaveRunning: true })
      await this.#host.engine.dial(this.spec.id, bounded)
      return info
    } catch (error) {
      signal.throwIfAborted()
      if ((await this.ending()) !== null) throw error
      // gVisor refuses some states, for example a connection in TIME-WAIT. The tree can still be
      // kept as an image.
      const message = 'The memory of this step could not be kept. Its files are kept.'
      this.#host.report.log({ level: 'debug', step: null, message })
      await this.#host.engine.dial(this.spec.id, bounded)
      return null
    }
  }

  /** Returns the tree as an image of the engine. */
  async export(signal: AbortSignal): Promise<ImageInfo> {
    const images = this.#host.engine.ability('images')
    if (images === null) throw new EngineError('not_supported', 'this engine has no images')
    await this.closeNetwork(signal)
    const onlyChanged = this.spec.isolation === 'gvisor'
    const maxBytes = await this.#mostExported(images)
    const tar = await this.guest.trees.export({ onlyChanged }, signal)
    return images.import(tar.body, signal, { base: this.spec.imageDigest, maxBytes })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#gone) return
    this.#gone = true
    try {
      await this.#host.engine.remove(this.spec.id, AbortSignal.timeout(REMOVE_TIMEOUT_MS))
    } finally {
      await this.#runtime[Symbol.asyncDispose]()
    }
  }

  /**
   * Returns the maximum size of an honest export: the image below and the content of the disk, with
   * some room for holes.
   */
  async #mostExported(images: ImageStore): Promise<number> {
    const below = (await images.list()).find(({ digest }) => digest === this.spec.imageDigest)
    return Math.min(MAX_IMAGE_BYTES, (below?.sizeBytes ?? 0) + 2 * this.spec.diskMiB * 2 ** 20)
  }

  async #bind(signal: AbortSignal): Promise<void> {
    const ownsKernel = this.spec.isolation === 'gvisor'
    await this.guest.bind(
      {
        // The same for all builds, because other builds continue from these states.
        runtime_id: 'build',
        hostname: 'build',
        machine_id: randomBytes(16).toString('hex'),
        env: {},
        user: '0',
        workdir: '/',
        time_unix_ms: Date.now(),
        entropy: randomBytes(64).toString('base64'),
        pids_max: ownsKernel ? PIDS_MAX : null,
        set_clock: ownsKernel,
        set_hostname: ownsKernel,
      },
      signal,
    )
  }
}

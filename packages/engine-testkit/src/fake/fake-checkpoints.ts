import {
  type CheckpointInfo,
  type Checkpoints,
  EngineError,
  type Fallback,
  type RuntimeId,
  type RuntimeSpec,
} from '@holt/engine'
import type { BeforeVerb } from './fake-engine-options.ts'
import type { FakeRuntimes } from './fake-runtimes.ts'
import type { FakeGuest } from './guest/fake-guest.ts'

/** A checkpoint of a fake engine. */
export interface FakeCheckpoint {
  readonly info: CheckpointInfo
  /** A guest that does not run. Restored runtimes get a copy of it. */
  readonly guest: FakeGuest
  problem: 'incompatible' | 'damaged' | null
}

/** The parts of a fake engine that its checkpoints need. */
interface EngineParts {
  readonly runtimes: FakeRuntimes
  readonly before: BeforeVerb
  /** Removes a runtime. */
  readonly drop: (id: RuntimeId) => Promise<void>
}

/** The checkpoints of a fake engine. */
export class FakeCheckpoints {
  readonly #checkpoints = new Map<string, FakeCheckpoint>()
  readonly #engine: EngineParts

  constructor(engine: EngineParts) {
    this.#engine = engine
  }

  /** Returns the guest of a spec's checkpoint; null for a cold boot. */
  restore(spec: RuntimeSpec): FakeGuest | null {
    if (spec.checkpointId === null) return null
    const checkpoint = this.#checkpoints.get(spec.checkpointId)
    const problem = problemOf(checkpoint, spec)
    if (problem === null) return checkpoint?.guest.copy() ?? null
    if (spec.restoreOnly === true) throw new EngineError(problem, `checkpoint ${spec.checkpointId} cannot be restored`)
    return null
  }

  /** Returns the reason for a cold boot. Called for a spec that was booted cold. */
  fallbackOf({ checkpointId }: RuntimeSpec): Fallback | null {
    if (checkpointId === null) return null
    const checkpoint = this.#checkpoints.get(checkpointId)
    const reason = checkpoint === undefined ? 'absent' : (checkpoint.problem ?? 'incompatible')
    return { reason, why: `checkpoint ${checkpointId} cannot be restored` }
  }

  /** Returns a checkpoint. Throws kind `not_found`. */
  find(checkpointId: string): FakeCheckpoint {
    const checkpoint = this.#checkpoints.get(checkpointId)
    if (checkpoint === undefined) throw new EngineError('not_found', `there is no checkpoint ${checkpointId}`)
    return checkpoint
  }

  /** Returns true if there is a checkpoint of this id. */
  has(checkpointId: string): boolean {
    return this.#checkpoints.has(checkpointId)
  }

  /** Adds a checkpoint that was made by another engine. */
  put(checkpoint: FakeCheckpoint): void {
    this.#checkpoints.set(checkpoint.info.checkpointId, checkpoint)
  }

  /** Makes a checkpoint unusable. */
  spoil(checkpointId: string, problem: 'incompatible' | 'damaged'): void {
    const checkpoint = this.#checkpoints.get(checkpointId)
    if (checkpoint !== undefined) checkpoint.problem = problem
  }

  readonly store: Checkpoints = {
    take: async (runtime, checkpointId, signal, { leaveRunning = false, onRunning } = {}) => {
      const { runtimes, before, drop } = this.#engine
      await before('take', runtime)
      signal.throwIfAborted()
      const done = this.#checkpoints.get(checkpointId)
      if (done !== undefined && !leaveRunning && runtimes.get(runtime)?.observed.state === 'running')
        throw new EngineError('conflict', `checkpoint ${checkpointId} exists and ${runtime} runs`)
      if (done !== undefined) return done.info
      const { observed, guest } = runtimes.find(runtime)
      const { imageDigest, isolation, cpu, memoryMiB, diskMiB } = observed.spec
      if (isolation !== 'gvisor') throw new EngineError('not_supported', `${isolation} has no checkpoints`)
      if (observed.frozen) throw new EngineError('conflict', `${runtime} is frozen`)
      const sizeBytes = 1 + guest.files.nodes.sizeBytes
      const info: CheckpointInfo = { checkpointId, imageDigest, isolation, cpu, memoryMiB, diskMiB, sizeBytes }
      this.#checkpoints.set(checkpointId, { info, guest: guest.copy(), problem: null })
      guest.disconnect()
      if (leaveRunning) onRunning?.()
      else await drop(runtime)
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
}

/** Returns why a spec cannot be restored from a checkpoint; null if it can. */
function problemOf(checkpoint: FakeCheckpoint | undefined, spec: RuntimeSpec): 'incompatible' | 'damaged' | null {
  if (checkpoint === undefined) return 'damaged'
  const { info, problem } = checkpoint
  if (problem !== null) return problem
  const fits = (['isolation', 'imageDigest', 'cpu', 'memoryMiB'] as const).every((key) => info[key] === spec[key])
  return fits && spec.diskMiB >= info.diskMiB ? null : 'incompatible'
}

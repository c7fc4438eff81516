import { KeyedLock } from '@holt/async'
import type { CheckpointInfo } from '@holt/engine'
import { makeCheckpointId } from '../../foundation/rows/checkpoint-id.ts'
import type { Runtimes } from '../runtimes.ts'
import { dropCheckpoint } from '../state/drop-checkpoint.ts'

/** A checkpoint that forks share. */
interface Shared {
  readonly checkpointId: string
  readonly written: Promise<CheckpointInfo>
  users: number
}

/** A checkpoint that is kept until it is disposed of. */
export interface ForkCheckpoint extends AsyncDisposable {
  readonly checkpointId: string
  readonly sizeBytes: number
}

/** The runtime to checkpoint, and whether the checkpoint has a record of its files. */
interface ForkSource {
  readonly runtimeId: string
  readonly recordFiles: boolean
}

/** Writes a runtime's checkpoint under an id. */
type Write = (checkpointId: string) => Promise<CheckpointInfo>

/**
 * Shares checkpoints between forks. Forks of one runtime that arrive during a write share the next
 * checkpoint, if they agree on the record of files. A hundred forks at once thus stop the runtime
 * and write its memory twice. No fork gets a checkpoint that was begun before the fork was
 * requested.
 */
export class ForkCheckpoints {
  readonly #service: () => Pick<Runtimes, 'engine' | 'log' | 'holds'>
  readonly #writing = new KeyedLock()
  /** The checkpoints that are not yet being written, by runtime and record. */
  readonly #waiting = new Map<string, Shared>()

  constructor(service: () => Pick<Runtimes, 'engine' | 'log' | 'holds'>) {
    this.#service = service
  }

  /**
   * Returns a checkpoint of a runtime that was written after this call. Rejects with the error of
   * `write`.
   */
  async take(source: ForkSource, write: Write): Promise<ForkCheckpoint> {
    const shared = this.#waiting.get(keyOf(source)) ?? this.#begin(source, write)
    shared.users += 1
    try {
      const { sizeBytes } = await shared.written
      return {
        checkpointId: shared.checkpointId,
        sizeBytes,
        [Symbol.asyncDispose]: () => this.#leave(shared),
      }
    } catch (error) {
      await this.#leave(shared)
      throw error
    }
  }

  /**
   * Begins a checkpoint. It is held before it exists and until the last fork releases it, because
   * no row refers to it.
   */
  #begin(source: ForkSource, write: Write): Shared {
    const checkpointId = makeCheckpointId()
    this.#service().holds.hold(checkpointId, checkpointId)
    const { promise: written, resolve } = Promise.withResolvers<CheckpointInfo>()
    const shared: Shared = { checkpointId, written, users: 0 }
    this.#waiting.set(keyOf(source), shared)
    resolve(
      this.#writing.run(source.runtimeId, () => {
        this.#waiting.delete(keyOf(source))
        return write(checkpointId)
      }),
    )
    return shared
  }

  async #leave(shared: Shared): Promise<void> {
    shared.users -= 1
    if (shared.users > 0) return
    const service = this.#service()
    service.holds.release(shared.checkpointId)
    await dropCheckpoint(service, shared.checkpointId)
  }
}

function keyOf({ runtimeId, recordFiles }: ForkSource): string {
  return `${runtimeId} ${recordFiles}`
}

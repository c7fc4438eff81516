import type { CheckpointInfo } from '@holt/engine'

/** The maximum number of sizes of checkpoints that are cached. Others are read again. */
const maxNoted = 10_000

/**
 * The memory that restores in progress will take. Without it, concurrent restores would each be
 * admitted to the memory that is free now.
 */
export class RestoresUnderWay {
  readonly #amounts = new Map<string, number>()
  readonly #written = new Map<string, number>()

  /** Caches the size of a checkpoint, so that its restore need not read it. */
  note({ checkpointId, sizeBytes }: Pick<CheckpointInfo, 'checkpointId' | 'sizeBytes'>): void {
    if (this.#written.size >= maxNoted) this.#written.clear()
    this.#written.set(checkpointId, sizeBytes)
  }

  /** Returns the bytes of a checkpoint. Null if they were not noted. */
  bytesOf(checkpointId: string): number | null {
    return this.#written.get(checkpointId) ?? null
  }

  /** Forgets a deleted checkpoint. */
  forget(checkpointId: string): void {
    this.#written.delete(checkpointId)
  }

  /** Notes a restore until `end`. A runtime without memory to restore is not noted. */
  begin(runtimeId: string, memoryMiB: number): void {
    if (memoryMiB > 0) this.#amounts.set(runtimeId, memoryMiB)
  }

  /** Ends a restore: its memory is in use now, or it failed. An unknown id is success. */
  end(runtimeId: string): void {
    this.#amounts.delete(runtimeId)
  }

  /** Returns the memory of all restores in progress except one, in MiB. */
  memoryMiB(butOf: string): number {
    let sum = 0
    for (const [runtimeId, amount] of this.#amounts) if (runtimeId !== butOf) sum += amount
    return sum
  }
}

/**
 * Returns the memory that a restore takes at once, in MiB: at most the size of the checkpoint, and
 * at most the limit of the runtime.
 */
export function broughtBackMiB(checkpointBytes: number | null, memoryMiB: number): number {
  return checkpointBytes === null ? 0 : Math.min(memoryMiB, Math.ceil(checkpointBytes / 2 ** 20))
}

import type { CheckpointInfo } from '@holt/engine'

/** More than these are looked for anew. */
const maxNoted = 10_000

/**
 * The memory that restores in progress will take. Without it, concurrent restores would each be
 * admitted to the memory that is free now.
 */
export class RestoresUnderWay {
  readonly #amounts = new Map<string, number>()
  readonly #written = new Map<string, number>()

  /** Notes how much a checkpoint has, so that nobody need look when it is restored. */
  note({ checkpointId, sizeBytes }: Pick<CheckpointInfo, 'checkpointId' | 'sizeBytes'>): void {
    if (this.#written.size >= maxNoted) this.#written.clear()
    this.#written.set(checkpointId, sizeBytes)
  }

  /** Returns the bytes of a checkpoint. Null if they were not noted. */
  bytesOf(checkpointId: string): number | null {
    return this.#written.get(checkpointId) ?? null
  }

  /** A checkpoint goes. */
  forget(checkpointId: string): void {
    this.#written.delete(checkpointId)
  }

  /** Notes a restore until `end`. None is noted of a runtime that brings nothing back. */
  begin(runtimeId: string, memoryMiB: number): void {
    if (memoryMiB > 0) this.#amounts.set(runtimeId, memoryMiB)
  }

  /** The memory is taken, or is not wanted any more. Nothing noted is success. */
  end(runtimeId: string): void {
    this.#amounts.delete(runtimeId)
  }

  /** Of all that are under way but this one. */
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

/** The reserve of the host that runtimes must leave free, as the operator sets it. */
export interface ReserveSettings {
  /** Null: a twentieth of the memory, and half a GiB at least. */
  readonly memoryMiB: number | null
  readonly diskMiB: number
}

/**
 * Memory that runtimes may not have where nothing is said: the service's, the kernel's and every
 * runtime's own engine process.
 */
const usualMemory = { share: 0.05, minMiB: 512 }

/**
 * Disk that creates may not touch where nothing is said, so that running work, reads and the
 * database go on.
 */
export const usualReserve: ReserveSettings = { memoryMiB: null, diskMiB: 1024 }

/** The memory that runtimes of a host may not have. */
export function reservedMemoryMiB({ memoryMiB }: ReserveSettings, hostMemoryMiB: number): number {
  return memoryMiB ?? Math.max(usualMemory.minMiB, Math.round(hostMemoryMiB * usualMemory.share))
}

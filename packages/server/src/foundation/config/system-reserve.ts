/** The reserve of the host that runtimes must leave free, as the operator sets it. */
export interface ReserveSettings {
  /** The memory in MiB. Null: a twentieth of the memory, and at least half a GiB. */
  readonly memoryMiB: number | null
  readonly diskMiB: number
}

/**
 * The default memory reserve: for the service, the kernel and every runtime's own engine process.
 */
const usualMemory = { share: 0.05, minMiB: 512 }

/** The default disk reserve. It leaves room for running work, reads and the database. */
export const usualReserve: ReserveSettings = { memoryMiB: null, diskMiB: 1024 }

/** Returns the memory of a host that runtimes may not use, in MiB. */
export function reservedMemoryMiB({ memoryMiB }: ReserveSettings, hostMemoryMiB: number): number {
  return memoryMiB ?? Math.max(usualMemory.minMiB, Math.round(hostMemoryMiB * usualMemory.share))
}

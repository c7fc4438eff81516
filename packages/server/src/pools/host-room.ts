/** Pools leave this much of the host's memory to creates and to what runs: more than what creates leave, so that pools yield first. */
const memoryLeft = { share: 0.1, minMiB: 1024 }

/** Between making one more and giving one back lies this much, so that the same memory is not taken and given in turns. */
const hysteresisMiB = 256

/** Disk that pools leave; creates are refused at half of it. */
const diskLeftMiB = 2048

/** What a host has left. */
export interface HostRoom {
  readonly memoryMiB: number
  /** Null: not known, and no reason to make fewer. */
  readonly freeMemoryMiB: number | null
  readonly diskFreeMiB: number
}

/** Whether the host has room for a member that takes `costMiB` of memory, beside what those that are being made will take. */
export function hasRoom({ memoryMiB, freeMemoryMiB, diskFreeMiB }: HostRoom, costMiB: number): boolean {
  if (diskFreeMiB < diskLeftMiB) return false
  return freeMemoryMiB === null || freeMemoryMiB - costMiB >= leftOf(memoryMiB) + hysteresisMiB
}

/** Whether members should be given back, so that others have their memory and disk. */
export function isTight({ memoryMiB, freeMemoryMiB, diskFreeMiB }: HostRoom): boolean {
  return diskFreeMiB < diskLeftMiB / 2 || (freeMemoryMiB !== null && freeMemoryMiB < leftOf(memoryMiB))
}

function leftOf(memoryMiB: number): number {
  return Math.max(memoryLeft.minMiB, Math.round(memoryMiB * memoryLeft.share))
}

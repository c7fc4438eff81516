import type { ReserveSettings } from '../../foundation/config/system-reserve.ts'

/**
 * The host memory that pools leave free. It is more than creates leave free, so that pools shrink
 * first.
 */
const memoryLeft = { share: 0.1, minMiB: 1024 }

/**
 * The memory between the limits for adding and for removing a member, in MiB. It prevents an
 * oscillation.
 */
const hysteresisMiB = 256

/** The free disk below which pools add no members, in MiB. Creates are refused at half of it. */
const diskLeftMiB = 2048

/** The free resources of a host. */
export interface HostRoom {
  readonly memoryMiB: number
  /** The free memory in MiB. Null if it is unknown, which does not limit pools. */
  readonly freeMemoryMiB: number | null
  readonly diskFreeMiB: number
  /** The reserve that creates leave free, if the operator has set one. */
  readonly reserve: ReserveSettings
}

/**
 * Returns true if the host has room for a member of `costMiB` of memory, beside the members that
 * are being made.
 */
export function hasRoom({ diskFreeMiB, freeMemoryMiB, ...host }: HostRoom, costMiB: number): boolean {
  if (diskFreeMiB < diskLeftOf(host)) return false
  return freeMemoryMiB === null || freeMemoryMiB - costMiB >= leftOf(host) + hysteresisMiB
}

/** Returns the room with less free memory. */
export function lessMemory<Room extends Pick<HostRoom, 'freeMemoryMiB'>>(room: Room, costMiB: number): Room {
  const { freeMemoryMiB } = room
  return { ...room, freeMemoryMiB: freeMemoryMiB === null ? null : freeMemoryMiB - costMiB }
}

/** Returns true if members should be removed to free memory and disk. */
export function isTight({ diskFreeMiB, freeMemoryMiB, ...host }: HostRoom): boolean {
  return diskFreeMiB < diskLeftOf(host) / 2 || (freeMemoryMiB !== null && freeMemoryMiB < leftOf(host))
}

function leftOf({ memoryMiB, reserve }: Pick<HostRoom, 'memoryMiB' | 'reserve'>): number {
  const usual = Math.max(memoryLeft.minMiB, Math.round(memoryMiB * memoryLeft.share))
  return Math.max(usual, (reserve.memoryMiB ?? 0) + 2 * hysteresisMiB)
}

function diskLeftOf({ reserve }: Pick<HostRoom, 'reserve'>): number {
  return Math.max(diskLeftMiB, 2 * reserve.diskMiB)
}

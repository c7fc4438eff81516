import type { ReserveSettings } from '../../foundation/config/system-reserve.ts'

/**
 * Pools leave this much of the host's memory to creates and to what runs: more than what creates
 * leave, so that pools yield first.
 */
const memoryLeft = { share: 0.1, minMiB: 1024 }

/**
 * Between making one more and giving one back lies this much, so that the same memory is not taken
 * and given in turns.
 */
const hysteresisMiB = 256

/** Disk that pools leave; creates are refused at half of it. */
const diskLeftMiB = 2048

/** The free resources of a host. */
export interface HostRoom {
  readonly memoryMiB: number
  /** Null: not known, and no reason to make fewer. */
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

/** The same room with so much less free memory. */
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

import { HoltError } from '@holt/protocol'
import { type ReserveSettings, reservedMemoryMiB } from '../../foundation/config/system-reserve.ts'
import { type Refuse, throwRefusal } from '../../foundation/errors/refuse.ts'

/**
 * The host memory of a runtime before its own programs run, in MiB: the engine's process and the
 * guest.
 */
const startCostMiB = 48

/** The facts that decide if a host takes one more runtime. */
export interface Admission {
  readonly hostMemoryMiB: number
  readonly diskFreeMiB: number
  /** Null if it is unknown, which is no reason to refuse. */
  readonly freeMemoryMiB: number | null
  /** The sum of the memory limits of all runtimes that have not ended. */
  readonly promisedMiB: number
  /** The number of creates in progress, which do not use their memory yet. */
  readonly starting: number
  readonly overcommit: number
  readonly reserve: ReserveSettings
  readonly memoryMiB: number
  /** True for a runtime that comes back. The host had enough memory for it before. */
  readonly isBack?: boolean
  /** The memory with which it is restored, in MiB. Absent: it begins with almost none. */
  readonly broughtBackMiB?: number
  /** The memory of other restores in progress, in MiB. */
  readonly arrivingMiB?: number
}

/**
 * Refuses a runtime that the host cannot take. If it never fits, the request is invalid. If it does
 * not fit now, the client may try again. A limit is not a use, so limits may add up to `overcommit`
 * times the memory.
 */
export function admit(admission: Admission, refuse: Refuse = throwRefusal): void {
  const { diskFreeMiB, memoryMiB, reserve, isBack = false } = admission
  requireDisk(diskFreeMiB, reserve, refuse)
  const { usableMiB, promisableMiB, canStart } = measure(admission)
  if (memoryMiB > usableMiB) {
    refuse(
      new HoltError(
        isBack ? 'capacity_exhausted' : 'unsupported_setting',
        `The host can give a runtime ${usableMiB} MiB of memory at most.`,
        {
          hint: isBack
            ? 'Add memory to the host, or lower HOLT_RESERVE_MEMORY.'
            : 'Request less memory, or use another template or snapshot.',
          details: { available_mib: usableMiB },
        },
      ),
    )
  } else if (memoryMiB > promisableMiB || !canStart) refuse(exhausted())
}

/** The room of a host for one more runtime. */
export interface RuntimeRoom {
  /** The largest runtime that the host could take if it were empty. */
  readonly memoryMaxMiB: number
  /** The largest runtime that the host takes now; 0 if it takes none. */
  readonly memoryFreeMiB: number
  /** The free disk without the reserve for running work. */
  readonly diskFreeMiB: number
}

/** Returns the room by which `admit` decides. */
export function roomOf(admission: Admission): RuntimeRoom {
  const { usableMiB, promisableMiB, canStart } = measure(admission)
  return {
    memoryMaxMiB: Math.max(0, usableMiB),
    memoryFreeMiB: canStart ? Math.max(0, Math.min(usableMiB, promisableMiB)) : 0,
    diskFreeMiB: Math.max(0, admission.diskFreeMiB - admission.reserve.diskMiB),
  }
}

function measure(admission: Admission) {
  const { hostMemoryMiB, freeMemoryMiB, promisedMiB, starting, overcommit, reserve } = admission
  const { broughtBackMiB = 0, arrivingMiB = 0 } = admission
  const reserveMiB = reservedMemoryMiB(reserve, hostMemoryMiB)
  const usableMiB = hostMemoryMiB - reserveMiB
  const neededMiB = reserveMiB + broughtBackMiB + arrivingMiB + (starting + 1) * startCostMiB
  return {
    usableMiB,
    promisableMiB: Math.floor(usableMiB * overcommit) - promisedMiB,
    canStart: freeMemoryMiB === null || freeMemoryMiB >= neededMiB,
  }
}

/**
 * Refuses a disk that is asked for and that the host could never fill. Disks are sparse, so
 * together they may be larger than the host's.
 */
export function requirePossibleDisk(
  diskMiB: number | undefined,
  { hostDiskMiB, reserve }: { readonly hostDiskMiB: number; readonly reserve: ReserveSettings },
  refuse: Refuse = throwRefusal,
): void {
  const most = Math.max(0, hostDiskMiB - reserve.diskMiB)
  if (diskMiB === undefined || diskMiB <= most) return
  refuse(
    new HoltError('unsupported_setting', `The host can give a runtime ${most} MiB of disk at most.`, {
      hint: 'Request a smaller disk.',
      details: { available_mib: most },
    }),
  )
}

/** Refuses a request that writes to the disk if only the reserve for running work is left. */
export function requireDisk(
  diskFreeMiB: number,
  { diskMiB: reserveMiB }: ReserveSettings,
  refuse: Refuse = throwRefusal,
): void {
  if (diskFreeMiB >= reserveMiB) return
  refuse(
    new HoltError(
      'disk_full',
      `The host has ${Math.max(0, diskFreeMiB)} MiB of disk left; ${reserveMiB} MiB are reserved for running runtimes.`,
      { hint: "Free space on the disk of the service's state directory." },
    ),
  )
}

function exhausted(): HoltError {
  return new HoltError('capacity_exhausted', 'The host has no memory for one more runtime.', {
    details: { retry_after_secs: 5 },
  })
}

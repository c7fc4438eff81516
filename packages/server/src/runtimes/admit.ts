import { HoltError } from '@holt/protocol'

/** Memory that runtimes may not have: the service's, the kernel's and every runtime's own engine process. */
const memoryReserve = { share: 0.05, minMiB: 512 }

/** Disk that creates may not touch, so that running work, reads and the database go on. */
const diskReserveMiB = 1024

/** What one runtime takes of the host before its own programs run: the engine's process and the guest. */
const startCostMiB = 48

/** What decides whether a host takes one more runtime. */
export interface Admission {
  readonly hostMemoryMiB: number
  readonly diskFreeMiB: number
  /** Null: not known, and not a reason to refuse. */
  readonly freeMemoryMiB: number | null
  /** The limits of all runtimes that have not ended, together. */
  readonly promisedMiB: number
  /** Creates under way, whose memory is not yet taken. */
  readonly starting: number
  readonly overcommit: number
  readonly memoryMiB: number
}

/** Refuses a runtime that the host cannot take. A limit is not a use, so limits may add up to `overcommit` times the memory. */
export function admit(admission: Admission): void {
  const { hostMemoryMiB, freeMemoryMiB, promisedMiB, starting, overcommit, memoryMiB, diskFreeMiB } = admission
  requireDisk(diskFreeMiB)
  const reserveMiB = Math.max(memoryReserve.minMiB, Math.round(hostMemoryMiB * memoryReserve.share))
  const usableMiB = hostMemoryMiB - reserveMiB
  if (memoryMiB > usableMiB) {
    throw new HoltError('capacity_exhausted', `The host can give a runtime ${usableMiB} MiB of memory at the most.`, {
      hint: 'Ask for less memory, or a smaller template.',
      details: { available_mib: usableMiB },
    })
  }
  if (promisedMiB + memoryMiB > usableMiB * overcommit) throw exhausted()
  if (freeMemoryMiB !== null && freeMemoryMiB - starting * startCostMiB < reserveMiB + startCostMiB) throw exhausted()
}

/** Refuses what would write to a disk that has nothing left beside what is kept for running work. */
export function requireDisk(diskFreeMiB: number): void {
  if (diskFreeMiB >= diskReserveMiB) return
  throw new HoltError(
    'disk_full',
    `The host has ${Math.max(0, diskFreeMiB)} MiB of disk left; ${diskReserveMiB} MiB are kept for what runs.`,
    { hint: "Free space on the disk of the service's state directory." },
  )
}

function exhausted(): HoltError {
  return new HoltError('capacity_exhausted', 'The host has no memory for one more runtime.', {
    details: { retry_after_secs: 5 },
  })
}

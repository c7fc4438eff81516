import { HoltError } from '@holt/protocol'
import { type ReserveSettings, reservedMemoryMiB } from './system-reserve.ts'

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
  readonly reserve: ReserveSettings
  readonly memoryMiB: number
  /** It was here before, so the host had more memory then. */
  readonly isBack?: boolean
  /** Memory that it has at once, since it is restored with it; absent: it begins with next to none. */
  readonly broughtBackMiB?: number
  /** The same of other restores under way. */
  readonly arrivingMiB?: number
}

/** Refuses a runtime that the host cannot take: one that never fits as what is asked for wrongly, one that does not fit now as what may be tried again. A limit is not a use, so limits may add up to `overcommit` times the memory. */
export function admit(admission: Admission): void {
  const { hostMemoryMiB, freeMemoryMiB, promisedMiB, starting, overcommit, memoryMiB, diskFreeMiB } = admission
  const { reserve, isBack = false, broughtBackMiB = 0, arrivingMiB = 0 } = admission
  requireDisk(diskFreeMiB, reserve)
  const reserveMiB = reservedMemoryMiB(reserve, hostMemoryMiB)
  const usableMiB = hostMemoryMiB - reserveMiB
  if (memoryMiB > usableMiB) {
    throw new HoltError(
      isBack ? 'capacity_exhausted' : 'unsupported_setting',
      `The host can give a runtime ${usableMiB} MiB of memory at the most.`,
      {
        hint: isBack
          ? 'Add memory to the host, or lower HOLT_RESERVE_MEMORY.'
          : 'Ask for less memory, or take another template or snapshot.',
        details: { available_mib: usableMiB },
      },
    )
  }
  if (promisedMiB + memoryMiB > usableMiB * overcommit) throw exhausted()
  if (freeMemoryMiB === null) return
  const leftMiB = freeMemoryMiB - arrivingMiB - starting * startCostMiB
  if (leftMiB < reserveMiB + broughtBackMiB + startCostMiB) throw exhausted()
}

/** Refuses what would write to a disk that has nothing left beside what is kept for running work. */
export function requireDisk(diskFreeMiB: number, { diskMiB: reserveMiB }: ReserveSettings): void {
  if (diskFreeMiB >= reserveMiB) return
  throw new HoltError(
    'disk_full',
    `The host has ${Math.max(0, diskFreeMiB)} MiB of disk left; ${reserveMiB} MiB are kept for what runs.`,
    { hint: "Free space on the disk of the service's state directory." },
  )
}

function exhausted(): HoltError {
  return new HoltError('capacity_exhausted', 'The host has no memory for one more runtime.', {
    details: { retry_after_secs: 5 },
  })
}

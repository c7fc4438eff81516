import { readFileSync } from 'node:fs'
import { uptime } from 'node:os'

/** The host's own clock, which is never set. */
export interface HostClock {
  /** Which boot of the host it counts from. */
  readonly bootId: string
  /** Milliseconds since then, also those in which the host slept: the same in every process. */
  readonly uptime: () => number
}

/** The clock of this machine. */
export function openHostClock(): HostClock {
  const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  return { bootId, uptime: () => uptime() * 1000 }
}

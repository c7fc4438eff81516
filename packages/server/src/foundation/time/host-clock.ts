import { readFileSync } from 'node:fs'
import { uptime } from 'node:os'

/** The host's own clock, which is never set. */
export interface HostClock {
  /** The id of the boot of the host since which it counts. */
  readonly bootId: string
  /**
   * Returns the milliseconds since that boot, also those in which the host slept. They are the same
   * in every process.
   */
  readonly uptime: () => number
}

/** Returns the clock of this machine. */
export function openHostClock(): HostClock {
  const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  return { bootId, uptime: () => uptime() * 1000 }
}

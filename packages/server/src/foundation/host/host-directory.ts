import type { HostRow } from '../store/tables.ts'

/** The hosts of a fleet, as this host has seen them last. */
export interface HostDirectory {
  /** The rows as they were read last. Empty on a machine that is in no fleet. */
  readonly rows: readonly HostRow[]
  /**
   * Returns how long a suspect host has been silent, in milliseconds, as this host has seen it.
   * Null: the host is not suspect. A host that is lost or gone counts as silent for 0 ms at least.
   */
  silentMs(hostId: string): number | null
}

/** The directory of a machine that is in no fleet. */
export const noOtherHosts: HostDirectory = { rows: [], silentMs: () => null }

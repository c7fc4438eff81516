/** The condition of a host in its fleet, as it knows it. */
export interface HostCondition {
  /** The reasons why clients should ask another host, as sentences; empty if there is none. */
  readonly reasons: readonly string[]
  /**
   * The lead of this host's wall clock over that of the database, in milliseconds. Null: it was not
   * measured yet.
   */
  readonly clockDifferenceMs: number | null
}

/** The condition of a machine that is in no fleet. */
export const noFleetCondition: HostCondition = { reasons: [], clockDifferenceMs: null }

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

/** The difference of clocks above which an operator is warned, in milliseconds. */
export const clockWarnMs = 2_000

/** The difference of clocks from which a host should get no requests, in milliseconds. */
export const clockLimitMs = 30_000

/** Returns the words for the wall clock of a host that differs from the database's. */
export function clockText(differenceMs: number): string {
  const seconds = Math.round(Math.abs(differenceMs) / 100) / 10
  return `The clock of this host is ${seconds} s ${differenceMs > 0 ? 'ahead of' : 'behind'} that of the database.`
}

/** The difference of clocks above which an operator is warned, in milliseconds. */
export const clockWarnMs = 2_000

/** The difference of clocks from which a host should get no requests, in milliseconds. */
export const clockLimitMs = 30_000

/** Returns the words for the wall clock of a host that differs from the database's. */
export function clockText(differenceMs: number): string {
  const seconds = Math.round(Math.abs(differenceMs) / 100) / 10
  return `The clock of this host is ${seconds} s ${differenceMs > 0 ? 'ahead of' : 'behind'} that of the database.`
}

/**
 * The longest round trip of a question that says something about the clocks, in milliseconds. The
 * measured difference is wrong by half of a round trip at most.
 */
const longestTripMs = 2_000

/** A question to the database, and its clock when it was carried out. */
export interface MeasuredClock {
  /** When it was sent and answered, by a clock that is never set, in milliseconds. */
  readonly sentAt: number
  readonly answeredAt: number
  /** The wall clock of this host at the answer, in milliseconds since 1970 UTC. */
  readonly now: number
  /** The wall clock of the database, in milliseconds since 1970 UTC. */
  readonly databaseNow: number
}

/**
 * Returns the lead of this host's wall clock over that of the database, in milliseconds. The
 * database is taken to have read its clock in the middle of the round trip. Null: the trip took too
 * long to say anything.
 */
export function clockDifference({ sentAt, answeredAt, now, databaseNow }: MeasuredClock): number | null {
  const tripMs = answeredAt - sentAt
  return tripMs < 0 || tripMs > longestTripMs ? null : Math.round(now - tripMs / 2 - databaseNow)
}

/** A moment by two clocks of one host, in milliseconds. Only differences have a meaning. */
export interface Moment {
  /** The clock of the process (`performance.now()`). It may stop while the machine sleeps. */
  readonly monotonic: number
  /** `CLOCK_BOOTTIME`, which also counts the time for which the machine slept. */
  readonly uptime: number
}

/**
 * The lease of a host, as the host knows it. A lease protects the outside world: a runtime that
 * another host calls failed sends nothing more. It protects no write, because each write of a row
 * compares the host's epoch.
 */
export interface Lease {
  /** The moment before the last acknowledged beat was sent; null: no beat was acknowledged. */
  readonly from: Moment | null
  /** True if there was a verdict against this epoch, or another process has the next one. */
  readonly isOver: boolean
}

/** The lease of a host before its first beat. */
export const noLease: Lease = { from: null, isOver: false }

/**
 * Returns a lease after a beat was acknowledged. It counts from before the beat was sent: the judge
 * cannot have seen the beat earlier.
 */
export function renewed(lease: Lease, sentAt: Moment): Lease {
  return lease.isOver ? lease : { ...lease, from: sentAt }
}

/** Returns a lease after a beat found no row of its epoch. Nothing renews it. */
export function ended(lease: Lease): Lease {
  return { ...lease, isOver: true }
}

/**
 * Returns true if a host is fenced. The clock that has counted more decides. A clock that runs
 * backwards cannot be believed.
 */
export function isFenced({ from, isOver }: Lease, now: Moment, fenceMs: number): boolean {
  if (isOver || from === null) return true
  const passed = [now.monotonic - from.monotonic, now.uptime - from.uptime]
  return passed.some((ms) => !(ms >= 0 && ms < fenceMs))
}

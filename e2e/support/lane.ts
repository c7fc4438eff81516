import { join } from 'node:path'

/** The repository. */
export const repository = new URL('../..', import.meta.url).pathname.replace(/\/$/, '')

/**
 * The place of one service under test. Each worker of vitest has its own lane. So files run side by
 * side, and none sees the service of another.
 */
export interface Lane {
  /** Counts from 1, as `VITEST_POOL_ID` does. */
  readonly number: number
  /** The service's state. Runs keep it, so that the base template is built once. */
  readonly stateDir: string
  /** The daemon's directory for temporary files. Files that stay there are its own. */
  readonly temporaryDir: string
  /** The directory of the lane's Internet. */
  readonly rigDir: string
}

/** Returns a lane by its number, in this repository or in a copy of it. */
export function laneOf(number: number, root = repository): Lane {
  const base = join(root, '.holt', number === 1 ? 'e2e' : `e2e-${number}`)
  return { number, stateDir: base, temporaryDir: `${base}-tmp`, rigDir: `${base}-rig` }
}

/** The lane of this worker. */
export const ownLane = laneOf(Number(process.env.VITEST_POOL_ID ?? 1))

/** Returns what the global set-up hands to this worker, of what it hands to all lanes. */
export function ofOwnLane<Facts>(all: readonly Facts[]): Facts {
  const own = all[ownLane.number - 1]
  if (own === undefined) throw new Error(`no service was started for worker ${ownLane.number}`)
  return own
}

/** Returns how many files a run tests at once: `HOLT_E2E_LANES`, or 1. */
export function laneCount(setting = process.env.HOLT_E2E_LANES): number {
  if (setting === undefined || setting === '') return 1
  const count = Number(setting)
  if (!Number.isInteger(count) || count < 1) throw new Error(`HOLT_E2E_LANES is "${setting}"; set it to 1 or more`)
  return count
}

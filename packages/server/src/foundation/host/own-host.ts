import { type HostCheck, makeId } from '@holt/protocol'

/** Checks of a machine. */
export interface CheckedMachine {
  readonly checks: readonly HostCheck[]
  /** When they were made, in milliseconds since 1970 UTC. */
  readonly checkedAt: number
}

/** The host of this service: its id, and the checks of its machine. */
export interface OwnHost {
  readonly hostId: string
  /** Returns the checks of the machine. A repeated call gets those of the last minute. */
  readonly checks: () => Promise<CheckedMachine>
}

/** Returns a host whose machine is not checked. Its id is new, if none is given. */
export function uncheckedHost(hostId: string = makeId('host')): OwnHost {
  return { hostId, checks: async () => ({ checks: [], checkedAt: Date.now() }) }
}

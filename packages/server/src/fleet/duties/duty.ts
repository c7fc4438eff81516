/** A duty as it is stored: its holder, and a counter that the holder increments. */
export interface DutyRow {
  readonly name: string
  readonly host_id: string
  readonly host_epoch: number
  readonly turn: number
}

/** A host at one epoch. */
interface Holder {
  readonly hostId: string
  readonly epoch: number
}

/** The memory that a host has of a duty: the last turn that it saw, and when it saw it first. */
export interface SeenTurn {
  readonly holder: Holder
  readonly turn: number
  /** Milliseconds of this host's `CLOCK_BOOTTIME`. */
  readonly since: number
}

/**
 * A step about a duty. Each is a compare-and-set on the row that was read.
 *
 * * `make`: nobody has it yet.
 * * `keep`: it is this host's; increment its turn.
 * * `take`: its holder has ended, or is silent.
 * * `leave`: another host does it.
 */
export type Step = 'make' | 'keep' | 'take' | 'leave'

/** The facts by which a host decides about a duty. */
interface DutyFacts {
  readonly me: Holder
  readonly row: DutyRow | null
  readonly seen: SeenTurn | null
  /** When the read began and ended, in milliseconds of this host's `CLOCK_BOOTTIME`. */
  readonly startedAt: number
  readonly endedAt: number
  /** The current epochs of hosts that are neither lost nor gone. */
  readonly epochs: ReadonlyMap<string, number>
  readonly dutyMs: number
}

/** Decides about a duty. Returns the step, and what to remember. */
export function decideDuty(facts: DutyFacts): { readonly step: Step; readonly seen: SeenTurn | null } {
  const { me, row, seen, startedAt, endedAt, epochs, dutyMs } = facts
  if (row === null) return { step: 'make', seen: null }
  const holder = { hostId: row.host_id, epoch: row.host_epoch }
  const isSame = seen !== null && isOne(seen.holder, holder) && seen.turn === row.turn && endedAt >= seen.since
  const now = isSame ? seen : { holder, turn: row.turn, since: endedAt }
  if (isOne(holder, me)) return { step: 'keep', seen: now }
  const hasEnded = epochs.get(holder.hostId) !== holder.epoch
  return { step: hasEnded || startedAt - now.since >= dutyMs ? 'take' : 'leave', seen: now }
}

function isOne(one: Holder, other: Holder): boolean {
  return one.hostId === other.hostId && one.epoch === other.epoch
}

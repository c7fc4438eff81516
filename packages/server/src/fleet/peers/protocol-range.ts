/** A range of versions of the protocol between hosts. */
export interface ProtocolRange {
  readonly min: number
  readonly max: number
}

/**
 * The versions of the protocol between hosts that this service speaks. In version 1 a host refuses
 * unknown facts about a client. In version 2 it ignores them, so that later services can add facts.
 * A fact that forbids something needs a new version.
 */
export const hostProtocol: ProtocolRange = { min: 1, max: 2 }

/**
 * The level of a fleet at which workers may join. An older host does not know workers, and would
 * believe what they say of callers.
 */
export const workersFromLevel = 2

/** The header of a stream that says which version it is written in. */
export const protocolHeader = 'holt-protocol'

/** Returns the highest version that two hosts have in common; null if there is none. */
export function highestCommon(one: ProtocolRange, other: ProtocolRange): number | null {
  const highest = Math.min(one.max, other.max)
  return highest < Math.max(one.min, other.min) ? null : highest
}

/** Returns the versions that a host speaks, by the columns of its row. */
export function rangeOfRow(row: { readonly protocol_min: number; readonly protocol_max: number }): ProtocolRange {
  return { min: row.protocol_min, max: row.protocol_max }
}

/** The columns of a host by which it counts for the level. */
interface JoinedHost {
  readonly state: string
  readonly protocol_max: number
}

/**
 * Returns the level of a fleet: the newest version of the protocol that every host speaks which is
 * not forgotten. A lost host counts, as it may come back. Behaviour that older hosts do not know
 * begins when the level reaches its version. Null: no host has joined.
 */
export function levelOf(hosts: readonly JoinedHost[]): number | null {
  const joined = hosts.filter(({ state, protocol_max }) => state !== 'gone' && protocol_max > 0)
  return joined.length === 0 ? null : Math.min(...joined.map(({ protocol_max }) => protocol_max))
}

/** The master keys of a host, as its row tells them. */
export interface HostKeys {
  readonly hostId: string
  /** The ids of its keys. It seals with the first one. */
  readonly keyIds: readonly string[]
}

/**
 * Returns the key that a host seals with: its newest one that all other hosts have. Null if they
 * have none in common. `own` has the ids of its keys, the oldest first.
 */
export function chooseSealingKey(own: readonly string[], others: readonly HostKeys[]): string | null {
  return own.findLast((id) => others.every(({ keyIds }) => keyIds.includes(id))) ?? null
}

/** The progress of a rotation: the newest key, and the hosts for which it waits. */
export interface RotationState {
  readonly newestId: string
  /** The hosts that do not have the newest key. */
  readonly lacking: readonly string[]
  /** The hosts that have it, and do not seal with it yet. */
  readonly behind: readonly string[]
}

/** Returns the progress of a rotation to the newest key of this host. */
export function rotationState(own: readonly string[], hosts: readonly HostKeys[]): RotationState {
  const newestId = own.at(-1) ?? ''
  const idsOf = (some: readonly HostKeys[]) => some.map(({ hostId }) => hostId)
  const lacking = hosts.filter(({ keyIds }) => !keyIds.includes(newestId))
  const behind = hosts.filter((host) => !lacking.includes(host) && host.keyIds[0] !== newestId)
  return { newestId, lacking: idsOf(lacking), behind: idsOf(behind) }
}

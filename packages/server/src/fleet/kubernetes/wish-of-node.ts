import type { HostWish } from '../../foundation/store/tables.ts'

/** The wanted state of a host, and why it is wanted. */
export interface Wishes {
  /** The wanted state that is stored. */
  readonly wanted: HostWish
  /** True if this host was cordoned or drained because its Node was. */
  readonly isFollowing: boolean
}

/**
 * Returns the wishes after a look at the Node. When the Node is cordoned, a ready host is cordoned
 * or drained. When it is uncordoned again, the host is ready. Between these two moments an operator
 * decides, and a host that an operator cordoned before stays cordoned.
 */
export function wishesAfter(
  { wanted, isFollowing }: Wishes,
  { isCordoned, drainOnCordon }: { readonly isCordoned: boolean; readonly drainOnCordon: boolean },
): Wishes {
  if (isCordoned === isFollowing) return { wanted, isFollowing }
  if (!isCordoned) return { wanted: wanted === 'gone' ? wanted : 'ready', isFollowing: false }
  if (wanted !== 'ready') return { wanted, isFollowing: false }
  return { wanted: drainOnCordon ? 'draining' : 'cordoned', isFollowing: true }
}

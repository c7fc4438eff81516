/** The host of this process, as the rows of the store name it. */
export interface ThisHost {
  readonly hostId: string
  /** One more with each start of its service in a fleet. Rows of earlier epochs are not its own. */
  readonly epoch: number
  /**
   * True if nothing may leave this host, and it may change nothing: another host may have been told
   * that its runtimes have ended. A machine that is in no fleet is never fenced.
   */
  readonly fenced: boolean
}

/** Returns the columns of a row that is a host's own. */
export function ownedBy({ hostId, epoch }: ThisHost): { readonly host_id: string; readonly host_epoch: number } {
  return { host_id: hostId, host_epoch: epoch }
}

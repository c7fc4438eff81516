/** A stored change that takes something away, of which each host has a part in memory. */
export type StoredChange =
  | { readonly type: 'policy'; readonly projectId: string; readonly policyId: string }
  | { readonly type: 'secret'; readonly projectId: string; readonly secretId: string }
  /** Keys that have ended. `endsTokens`: the tokens of E2B's clients have ended with them. */
  | { readonly type: 'keys'; readonly keyIds: readonly string[]; readonly endsTokens: boolean }
  /** A session of the console has ended, by the digest of its token. */
  | { readonly type: 'session'; readonly digest: string }
  | { readonly type: 'quotas'; readonly projectId: string }

/** Applies stored changes at the other hosts of a fleet. */
export class ChangesElsewhere {
  /** Tells the other hosts. Null: the machine is in no fleet. */
  tell: ((change: StoredChange) => Promise<void>) | null = null

  /**
   * Resolves when a stored change is in force at the other hosts. Throws `unavailable` with their
   * ids if some did not apply it in time. They apply it when they read the database.
   */
  async apply(change: StoredChange): Promise<void> {
    await this.tell?.(change)
  }
}

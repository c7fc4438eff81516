/** The builds of a template on other hosts, or one of them. */
export interface OtherBuilds {
  readonly templateId: string
  /** Null: all of them. */
  readonly buildId: string | null
}

/** The questions of this host about builds to the other hosts of a fleet. Null: there are none. */
export class OtherBuildHosts {
  /** Reads the tar of a context from the host that has it. */
  readContext: ((hostId: string, contextId: string, signal: AbortSignal) => AsyncIterable<Uint8Array>) | null = null
  /** Cancels builds. Resolves when the hosts that answer have ended them. Never rejects. */
  cancel: ((builds: OtherBuilds) => Promise<void>) | null = null
}

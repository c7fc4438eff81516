/** One HTTP request that arrived at a host of the rig. */
export interface ArrivedRequest {
  /** The server name of TLS; null on plain HTTP. */
  readonly sni: string | null
  readonly protocol: 'h1' | 'h2'
  readonly method: string
  readonly path: string
  /** All fields in their order, names and values in turn. */
  readonly rawHeaders: readonly string[]
  readonly bodyBytes: number
  /** SHA-256 of the whole body, in hexadecimal. */
  readonly bodyHash: string
  /** Its beginning. */
  readonly body: string
}

/**
 * One TCP connection that arrived, with the first bytes that came on it where nobody else reads
 * them.
 */
export interface ArrivedConnection {
  readonly address: string
  readonly port: number
  readonly first: string
}

/** Everything that arrived in the rig since it was last reset. */
export interface Arrivals {
  /** `type name` of each DNS query. */
  readonly queries: readonly string[]
  readonly connections: readonly ArrivedConnection[]
  readonly requests: readonly ArrivedRequest[]
  /** UDP, as `port hex`. */
  readonly datagrams: readonly string[]
}

/** The facts that the rig reports when it is ready. */
export interface RigFacts {
  readonly resolver: string
  readonly caFile: string
  readonly controlSocket: string
  readonly listedAddress: string
  readonly unlistedAddress: string
  /** The addresses of this machine's own package index, by name. Empty without one. */
  readonly packageIndex: Readonly<Record<string, readonly string[]>>
  /** The addresses of this machine's own npm registry. Empty without one. */
  readonly npmRegistry: readonly string[]
  /** The addresses of this machine's own Debian archive, by name. Empty without one. */
  readonly debianArchive: Readonly<Record<string, readonly string[]>>
  /** This machine's own address in the rig's network. */
  readonly hostAddress: string
}

/** The facts that the process of the rig itself knows. */
export type ToldFacts = Omit<RigFacts, 'packageIndex' | 'npmRegistry' | 'debianArchive'>

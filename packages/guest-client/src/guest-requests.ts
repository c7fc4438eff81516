/** The network that a guest sets up inside. All its traffic goes through the egress socket. */
export interface GuestNetwork {
  /** The address that answers DNS. */
  readonly resolver: string
  /** The address of the runtime. */
  readonly address: string
  readonly mtu: number
  /** The answer of `Egress.prepareTun`. */
  readonly tun: 'create' | 'socket'
  /** Certificates in PEM to add to the trust stores inside. */
  readonly ca_certificates: readonly string[]
}

/**
 * The identity of a runtime. The guest gets it once, and again after each restore of a runtime that
 * was already bound.
 */
export interface BindRequest {
  readonly runtime_id: string
  /**
   * True if the runtime takes this identity even if it is bound, to this id or another. Everything
   * in the request is applied again.
   */
  readonly renew?: boolean
  readonly hostname: string
  /** 32 hex digits. */
  readonly machine_id: string
  readonly env: Readonly<Record<string, string>>
  readonly user: string
  readonly workdir: string
  readonly time_unix_ms: number
  /** Base64 of random bytes. */
  readonly entropy: string
  /** The maximum number of processes, if the guest itself must enforce it. */
  readonly pids_max: number | null
  readonly set_clock: boolean
  readonly set_hostname: boolean
  /** The network. Absent means null: no device, no route, no resolver. */
  readonly network?: GuestNetwork | null
}

/** The environment, user and directory for commands of an unbound runtime. */
export type SeedRequest = Pick<BindRequest, 'env' | 'user' | 'workdir' | 'pids_max'> & {
  readonly network: GuestNetwork | null
  /**
   * Names that `bind` will give unless it is asked for others; then it has nothing to write. Not
   * for a runtime to be checkpointed, because all its copies would share them.
   */
  readonly names?: Pick<BindRequest, 'hostname' | 'machine_id' | 'set_hostname'>
}

/** A relief of memory: processes with the most memory are killed until enough is free. */
export interface RelieveMemory {
  readonly limit_bytes: number
  /** Enough is free if so many bytes are. */
  readonly free_bytes: number
  /** No process with fewer bytes is killed. */
  readonly least_bytes: number
  /** True if the whole command that a process belongs to is killed. */
  readonly whole: boolean
}

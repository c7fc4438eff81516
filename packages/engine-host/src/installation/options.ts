/** The log of the engine; a pino logger fits. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** The way in which gVisor intercepts system calls. */
export type GvisorPlatform = 'systrap' | 'ptrace'

/** The options of `createHostEngine`. */
export interface HostEngineOptions {
  /** The directory that survives a restart of the host: images, checkpoints, disks. */
  readonly stateDir: string
  /**
   * The directory of sockets and runner state. It must be short, because a Unix socket's path has
   * at most 107 bytes. A tmpfs is best.
   */
  readonly runDir: string
  /** The mark of this installation's kernel objects: `[a-z0-9-]`, 1 to 32 characters. */
  readonly installationId: string
  /**
   * Path of a static `holt-guest` for this architecture. Null for an engine that only finds and
   * removes.
   */
  readonly guestBinary: string | null
  /** Default: `$HOLT_RUNSC`, else `runsc` on the PATH. */
  readonly runscPath?: string
  /** Default: `runc`, else `crun` on the PATH. */
  readonly runcPath?: string
  /** Default `systrap`. */
  readonly platform?: GvisorPlatform
  /** The cgroup that holds one child for each runtime. Default `/holt-<installationId>`. */
  readonly cgroupParent?: string
  /** The number of spare formatted disks for each size in use. Default 4; 0 keeps none. */
  readonly spareDisks?: number
  readonly log: Log
}

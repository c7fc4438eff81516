/** What the engine writes its log lines to; a pino logger fits. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** How gVisor intercepts system calls. */
export type GvisorPlatform = 'systrap' | 'ptrace'

/** Everything `createHostEngine` needs to know of its surroundings. */
export interface HostEngineOptions {
  /** Survives a restart of the host: images, checkpoints, disks. */
  readonly stateDir: string
  /**
   * Sockets and runner state; short, since a Unix socket's path has at most 107 bytes. A tmpfs is
   * best.
   */
  readonly runDir: string
  /** Marks this installation's kernel objects: `[a-z0-9-]`, 1 to 32 characters. */
  readonly installationId: string
  /**
   * Path of a static `holt-guest` for this architecture; null for an engine that only finds and
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
  /** Formatted disks kept ahead for each size in use. Default 4; 0 keeps none. */
  readonly spareDisks?: number
  readonly log: Log
}

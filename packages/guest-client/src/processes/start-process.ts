import type { GuestTerminal } from './process-schemas.ts'

/** A process to start. Exactly one of `command` and `argv` is not null. */
export interface StartProcess {
  readonly id: string
  readonly command: string | null
  readonly argv: readonly string[] | null
  readonly cwd: string | null
  readonly env: Readonly<Record<string, string>> | null
  /**
   * True if the environment is `env`, plus HOME and the variables for the network's certificates if
   * `env` does not name them. The bound environment and the user add nothing.
   */
  readonly env_exact?: boolean
  readonly user: string | null
  readonly stdin: 'none' | 'pipe'
  /** Base64. It is written, then stdin is closed. */
  readonly stdin_data: string | null
  /** The time limit; 0 for none. */
  readonly timeout_ms: number
  readonly ring_bytes: number | null
  /** By the names of setrlimit(2); null is unlimited. */
  readonly rlimits?: Readonly<Record<string, { readonly soft: number | null; readonly hard: number | null }>>
  /** The shell session of the process. */
  readonly session?: string
  /**
   * The name of an account. `cwd` is then a path of that account: relative paths begin at its home,
   * and null is the home.
   */
  readonly home_of?: string
  /** A text of at most 1 KiB that the process keeps. */
  readonly label?: string
  /** The size of the terminal for its standard input and output, which are then one stream. */
  readonly pty: GuestTerminal | null
  /**
   * True if the process waits until somebody reads its output with `hold`, for some seconds at
   * most.
   */
  readonly await_reader: boolean
  /**
   * True if the guest forgets the process when it ends. A reader that follows it receives its end.
   */
  readonly transient?: boolean
  /**
   * True if the runtime counts as idle while the process runs: `GuestInfo.foreground` leaves it
   * out.
   */
  readonly background?: boolean
}

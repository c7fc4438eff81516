/** The size of a terminal. */
export interface TerminalSize {
  readonly cols: number
  readonly rows: number
}

/** A program to start. */
export interface ProcessStart {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** The working directory, as `Place` describes paths. */
  readonly cwd: string
  /** The name of an account inside. Null: the default account. */
  readonly account: string | null
  /** Null: no terminal. */
  readonly terminal: TerminalSize | null
  readonly hasStdin: boolean
  /** The name by which the process is found besides its PID. Null: none. */
  readonly tag: string | null
  /** The time after which the process and its descendants are killed. Null: none. */
  readonly timeoutMs: number | null
}

/** The end of a process. */
export interface ProcessEnd {
  /** Null: a signal ended it, or the end is unknown. */
  readonly exitCode: number | null
  /** The signal as in signal(7). Null: it exited. */
  readonly signal: string | null
  readonly timedOut: boolean
}

/** An item of a process's output. The last one is its end. */
export type ProcessItem =
  | { readonly type: 'stdout' | 'stderr'; readonly data: Buffer }
  /** Output was lost before this reader could have it. */
  | { readonly type: 'lost'; readonly bytes: number }
  | { readonly type: 'end'; readonly end: ProcessEnd }

/** A process that runs, as lists show it. */
export interface ProcessInfo {
  readonly pid: number
  readonly argv: readonly string[]
  readonly cwd: string
  readonly tag: string | null
}

/** The name of a process in a request. */
export type ProcessName = { readonly pid: number } | { readonly tag: string }

/** The result of a change: `ended` if the process no longer runs. */
export type Changed = 'done' | 'ended'

/** A process that was found. */
export interface FoundProcess {
  readonly pid: number
  readonly isTerminal: boolean
  /** Null: the process runs. */
  readonly end: ProcessEnd | null
  /** Yields the output of the process from now on, and its end. */
  follow(signal: AbortSignal): AsyncIterable<ProcessItem>
  /** Writes to the input. Waits while the process does not read. `closed`: it has no open input. */
  write(data: Buffer, signal: AbortSignal): Promise<Changed | 'closed'>
  /** Closes the input. */
  closeInput(signal: AbortSignal): Promise<Changed | 'closed'>
  /** Sends a signal to the process group. */
  signal(name: 'SIGTERM' | 'SIGKILL', signal: AbortSignal): Promise<Changed>
  resize(size: TerminalSize, signal: AbortSignal): Promise<Changed>
}

/** A process that was started. */
export interface StartedProcess {
  readonly pid: number
  /** Yields its output from the start, and its end. */
  readonly items: AsyncIterable<ProcessItem>
}

/** The processes of a sandbox. */
export interface Processes {
  /**
   * Starts a process. It continues when its reader leaves. Throws `ConnectError` if it cannot be
   * started.
   */
  start(request: ProcessStart, signal: AbortSignal): Promise<StartedProcess>
  /**
   * Returns the newest process with a name. A running process comes before an ended one. Returns
   * null if there is none.
   */
  find(name: ProcessName, signal: AbortSignal): Promise<FoundProcess | null>
  /** Returns the processes that run. */
  list(signal: AbortSignal): Promise<readonly ProcessInfo[]>
}

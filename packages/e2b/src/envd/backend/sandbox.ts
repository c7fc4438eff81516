import type { BodyLimits } from '../../connect/read-body.ts'
import type { ConnectError } from '../../errors/connect-error.ts'
import type { E2bError } from '../../errors/e2b-error.ts'
import type { PollingWatchers } from '../watchers/polling-watchers.ts'
import type { Files } from './files.ts'
import type { Processes } from './processes.ts'
import type { Watches } from './watches.ts'

/** A measurement of a sandbox. Sizes are in bytes. */
export interface SandboxUsage {
  readonly cpuCount: number
  /** The use of all processors, in percent. */
  readonly cpuUsedPct: number
  readonly memTotal: number
  readonly memUsed: number
  readonly memCache: number
  readonly diskUsed: number
  readonly diskTotal: number
}

/** The inside of a sandbox that runs. */
export interface SandboxInside {
  readonly processes: Processes
  readonly files: Files
  readonly watches: Watches
  /** Returns the variables that every process gets. */
  variables(signal: AbortSignal): Promise<Readonly<Record<string, string>>>
  usage(signal: AbortSignal): Promise<SandboxUsage>
}

/** A sandbox that a request was admitted to. */
export interface VisitedSandbox {
  readonly sandboxId: string
  /** True if a signature admits the request, and not the sandbox's token. */
  readonly bySignature: boolean
  readonly limits: BodyLimits
  /** The watchers that clients poll, of all sandboxes. */
  readonly watchers: PollingWatchers
  /** Aborts when the client is gone, or the sandbox pauses or ends. */
  readonly gone: AbortSignal
  /**
   * Returns the inside. Resumes a paused sandbox if that is allowed. Throws `sandboxGone` if it
   * does not run.
   */
  open(): Promise<SandboxInside>
}

/** The entry to sandboxes for one request. */
export interface SandboxEntry {
  /** Admits the request to its sandbox. Throws `sandboxGone`, or `unauthenticated`. */
  enter(): Promise<VisitedSandbox>
  /**
   * Returns the client's error for any other error. Logs an error that is a fault of the service.
   * An `E2bError` means that the sandbox is gone.
   */
  errorOf(error: unknown): ConnectError | E2bError
  /** Returns the present time in milliseconds since 1970. */
  now(): number
}

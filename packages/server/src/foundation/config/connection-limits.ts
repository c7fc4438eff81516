import { readFileSync } from 'node:fs'

/** The limits of client connections. */
export interface ConnectionLimits {
  /** The time for the headers of a request. */
  readonly headersTimeoutMs: number
  /** The time for a whole JSON body. */
  readonly bodyTimeoutMs: number
  /** The time in which a body of bytes may bring nothing. */
  readonly quietBodyMs: number
  /** The time that a connection may wait for its next request. */
  readonly keepAliveTimeoutMs: number
  /**
   * The time in which a client may read nothing of an answer. Visits to ports have a limit of their
   * own.
   */
  readonly unreadTimeoutMs: number
  readonly maxConnections: number
  /** The maximum number of connections over which no client has shown a valid key yet. */
  readonly maxStrangers: number
  readonly maxHeaderBytes: number
  /** The maximum number of requests of one connection that wait for their answers. */
  readonly maxPipelined: number
  /**
   * The requests of all connections that wait for others of their connection. At this number, each
   * connection may have no more than `maxPipelinedInCrowd`.
   */
  readonly maxWaiting: number
  readonly maxPipelinedInCrowd: number
  /** The maximum number of requests and streams in progress of one project. */
  readonly maxRequestsPerProject: number
  /**
   * The maximum number of requests of one project with an `Idempotency-Key` that are remembered for
   * a day. One API key may have half.
   */
  readonly maxKeyedPerProject: number
}

/**
 * The default limits. They suffice for a slow client: a JSON body of 4 MiB arrives in time even
 * over 1.2 Mbit/s. They leave enough descriptors for the service itself. The remembered requests
 * are two a second for a whole day, each with some hundred bytes in the store.
 */
export const connectionLimits: ConnectionLimits = {
  headersTimeoutMs: 15_000,
  bodyTimeoutMs: 30_000,
  quietBodyMs: 60_000,
  keepAliveTimeoutMs: 65_000,
  unreadTimeoutMs: 120_000,
  maxConnections: 4096,
  maxStrangers: 1024,
  maxHeaderBytes: 16 * 1024,
  maxPipelined: 64,
  maxWaiting: 4096,
  maxPipelinedInCrowd: 4,
  maxRequestsPerProject: 1024,
  maxKeyedPerProject: 200_000,
}

/**
 * The share of descriptors that the service needs besides connections: for the store, and a few for
 * each runtime, image and log.
 */
const ownShare = 0.5

/** Returns the limits for a process with this many descriptors; null: any number. */
export function limitsFor(openFiles: number | null, most: ConnectionLimits = connectionLimits): ConnectionLimits {
  if (openFiles === null) return most
  const maxConnections = Math.max(16, Math.min(most.maxConnections, Math.floor(openFiles * (1 - ownShare))))
  return {
    ...most,
    maxConnections,
    maxStrangers: Math.min(most.maxStrangers, Math.floor(maxConnections / 4)),
    maxRequestsPerProject: Math.min(most.maxRequestsPerProject, Math.floor(maxConnections / 2)),
  }
}

/**
 * Returns the number of descriptors that this process may have (proc_pid_limits(5)); null if there
 * is no limit. Node has raised the soft limit to the hard one.
 */
export function openFilesLimit(): number | null {
  const soft = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
  return soft === undefined || soft === 'unlimited' ? null : Number(soft)
}

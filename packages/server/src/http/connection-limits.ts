import { readFileSync } from 'node:fs'

/** Bounds of the connections of clients. */
export interface ConnectionLimits {
  /** Time for the headers of a request. */
  readonly headersTimeoutMs: number
  /** Time for a whole JSON body. */
  readonly bodyTimeoutMs: number
  /** Time in which a body of bytes may bring nothing. */
  readonly quietBodyMs: number
  /** Time a connection may wait for its next request. */
  readonly keepAliveTimeoutMs: number
  /** Time a client may take nothing of an answer. Visits to ports have a limit of their own. */
  readonly unreadTimeoutMs: number
  readonly maxConnections: number
  /** Connections at rest over which nobody has shown a valid key yet. */
  readonly maxStrangers: number
  readonly maxHeaderBytes: number
  /** Requests of one connection that wait for their answers. */
  readonly maxPipelined: number
  /**
   * Requests of all connections that wait for others of their connection; with so many, each
   * connection may have no more than `maxPipelinedInCrowd`.
   */
  readonly maxWaiting: number
  readonly maxPipelinedInCrowd: number
  /** Requests and streams of one project that are under way. */
  readonly maxRequestsPerProject: number
  /**
   * Requests with an `Idempotency-Key` of one project that are known, of one day; one API key may
   * have half.
   */
  readonly maxKeyedPerProject: number
}

/**
 * Enough for a slow client (a JSON body of 4 MiB arrives in its time even over 1.2 Mbit/s); few
 * enough descriptors that the service keeps its own. Of requests that are known there are two a
 * second for a whole day, each some hundred bytes of the store.
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
 * What the service needs of descriptors besides connections: the store, and a few for each runtime,
 * image and log.
 */
const ownShare = 0.5

/** The limits where a process may have this many descriptors; null: any number. */
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
 * How many descriptors this process may have (proc_pid_limits(5)); null where there is no limit.
 * Node has raised the soft limit to the hard one.
 */
export function openFilesLimit(): number | null {
  const soft = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
  return soft === undefined || soft === 'unlimited' ? null : Number(soft)
}

import type { Settings } from 'node:http2'

/** The window of one stream, in bytes. A reader that takes nothing stops its own stream only. */
const streamWindowBytes = 2 ** 20

/** The window of a connection, in bytes. Slow streams together do not stop a quick one. */
export const connectionWindowBytes = 256 * 2 ** 20

/** The streams that may be open on one connection. Further ones wait at the sender. */
const maxStreams = 4096

/**
 * The maximum number of bytes of the headers of a stream. A client's own headers are not among
 * them.
 */
const maxHeaderBytes = 16 * 1024

/** The settings of each connection between hosts (RFC 9113, 6.5.2; RFC 8441, 3). */
export const wireSettings: Settings = {
  enablePush: false,
  enableConnectProtocol: true,
  initialWindowSize: streamWindowBytes,
  maxConcurrentStreams: maxStreams,
  maxHeaderListSize: maxHeaderBytes,
}

/** The memory limits of each connection between hosts. */
export const sessionLimits = {
  // The unit is MB. Node refuses new streams above it, and the windows alone may hold more than
  // its default.
  maxSessionMemory: (2 * connectionWindowBytes) / 1e6,
  maxHeaderListPairs: 64,
  maxSessionInvalidFrames: 100,
}

/** The protocol of TLS between hosts. */
export const tlsVersion = 'TLSv1.3' as const

/** The time limits of connections between hosts, in milliseconds. */
export interface PeerTimes {
  /** The time for a connection, with TLS and the first settings. */
  readonly connectMs: number
  /** The time until a host accepts or refuses a stream. */
  readonly acceptMs: number
  /** The interval of pings. Three lost ones end a connection. */
  readonly pingMs: number
  /** The time after which a connection without streams is closed. */
  readonly idleMs: number
}

/** The usual time limits. */
export const peerTimes: PeerTimes = { connectMs: 1_000, acceptMs: 5_000, pingMs: 5_000, idleMs: 5 * 60_000 }

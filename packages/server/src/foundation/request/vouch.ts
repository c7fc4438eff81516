import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import type { Caller } from './caller.ts'
import { clientAddress } from './client-address.ts'

/** A visit to a port that the entry has admitted. */
interface VouchedVisit {
  /** The project of the runtime. */
  readonly projectId: string
  /** The reason of the admission. */
  readonly by: 'key' | 'token' | 'public'
  /** The key that admits the visit. Null for a public port. */
  readonly credential: Pick<Caller, 'keyId' | 'keyVersion' | 'session'> | null
  /** The end of the visit in milliseconds since 1970 UTC. Null: the end of the key. */
  readonly expiresAt: number | null
  /** The generation of the port's tokens at the admission. */
  readonly generation: number
}

/**
 * The facts about a client that the entry of a forwarded request has checked. The owner believes
 * them, because only a host of the fleet can send them.
 */
export interface Vouch {
  /** The host that received the request. */
  readonly entryHostId: string
  /** The id of the request in the logs of both hosts. */
  readonly requestId: string
  /** The address of the client. Null if it is unknown. */
  readonly address: string | null
  /** True if the client uses TLS. */
  readonly isSecure: boolean
  /** The caller of a route. Null for a visit to a port. */
  readonly caller: Caller | null
  /** The visit to a port. Null for a route. */
  readonly visit: VouchedVisit | null
  /** The API of the request. Absent: Holt's own. */
  readonly surface?: 'e2b'
}

/** Returns the facts about the connection of a client's request that this host vouches for. */
export function connectionFacts(request: IncomingMessage): Pick<Vouch, 'address' | 'isSecure'> {
  return { address: clientAddress(request) ?? null, isSecure: request.socket instanceof TLSSocket }
}

const vouches = new WeakMap<Duplex, Vouch>()

/** Notes the vouch of a connection. Only the listener for hosts of the fleet calls this. */
export function noteVouch(connection: Duplex, vouch: Vouch): void {
  vouches.set(connection, vouch)
}

/**
 * Returns the vouch of the connection that carries a request. Returns null for connections of
 * clients, whatever their headers are.
 */
export function vouchOf(connection: Duplex): Vouch | null {
  return vouches.get(connection) ?? null
}

import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { AttachedSecret, Decision, DenialReason, RuntimeCa } from '../contract.ts'

/** What a rule says to one request. */
export type RequestVerdict =
  | { readonly allowed: true; readonly rule: string }
  | { readonly allowed: false; readonly reason: DenialReason }

/**
 * The fields of a decision that only whoever reads the requests knows; the session adds the rest.
 */
export type ObservedRequest = Pick<Decision, 'allowed' | 'rule' | 'method' | 'path' | 'secret'>

/** A connection whose TLS has to be ended at the gateway, with everything that this needs. */
export interface ConnectionToTerminate {
  /**
   * The runtime's side: TLS from its first byte, the ClientHello that was read included.
   * Half-closed when the runtime half-closes.
   */
  readonly client: Duplex
  /** The canonical name that the address was handed out for; SNI has been found equal to it. */
  readonly name: string
  readonly port: number
  /** ALPN protocols that the client offers, in its order; empty when it offers none. */
  readonly offeredProtocols: readonly string[]
  /** Signs the certificate for `name`. */
  readonly ca: RuntimeCa
  /** The secrets that are for this name now; asked anew for each request. */
  secrets(): readonly AttachedSecret[]
  /**
   * TCP to the name: resolved, checked and dialled by the gateway. The first call answers the
   * connection that the runtime's own connect has made; later ones dial anew. The session closes
   * what is left of them when the connection ends. Rejects with a `DialError` or
   * `RefusedConnection`.
   */
  dialUpstream(): Promise<Socket>
  /**
   * Resolves when the next request may be read: so a flood of requests is slow rather than a flood
   * of decisions.
   */
  pace(): Promise<void>
  /**
   * What the policy in force says to a request. `path` is the request target's path, without the
   * query, as it will be sent.
   */
  decide(method: string, path: string): RequestVerdict
  /** Logs a request; once for each, when it is decided. */
  onDecision(request: ObservedRequest): void
  /** Aborted when the connection is cut: by a new policy, or because the runtime is gone. */
  readonly signal: AbortSignal
}

/**
 * Ends TLS of connections whose rule or secrets need it: reads each request, asks `decide`, puts
 * secrets in, and speaks verified TLS to the upstream. Resolves when the connection is over; throws
 * a `RefusedConnection` when it will not carry it.
 */
export interface Terminator {
  serve(connection: ConnectionToTerminate): Promise<void>
}

/** Why a connection is not carried any further, under the reason that the decisions log shows. */
export class RefusedConnection extends Error {
  override readonly name = 'RefusedConnection'
  readonly reason: DenialReason

  constructor(reason: DenialReason) {
    super(reason)
    this.reason = reason
  }
}

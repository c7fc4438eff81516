import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { AttachedSecret, Decision, DenialReason, RuntimeCa } from './gateway-contract.ts'

/** The verdict of the rules on one request. */
export type RequestVerdict =
  | { readonly allowed: true; readonly rule: string }
  | { readonly allowed: false; readonly reason: DenialReason }

/**
 * The fields of a decision that only the reader of the requests knows. The session adds the rest.
 */
export type ObservedRequest = Pick<Decision, 'allowed' | 'rule' | 'method' | 'path' | 'secret'>

/** A connection whose TLS has to be terminated at the gateway, with everything that this needs. */
export interface ConnectionToTerminate {
  /**
   * The runtime's side: TLS from its first byte, including the ClientHello that was read. It is
   * half-closed when the runtime half-closes.
   */
  readonly client: Duplex
  /** The canonical name that the address was assigned for. SNI is already checked to be equal. */
  readonly name: string
  readonly port: number
  /** The client's ALPN protocols, in its order. Empty if it offers none. */
  readonly offeredProtocols: readonly string[]
  /** The authority that signs the certificate for `name`. */
  readonly ca: RuntimeCa
  /** Returns the secrets for this name now. It is called for each request. */
  secrets(): readonly AttachedSecret[]
  /**
   * Returns a TCP connection to the name, which the gateway has resolved, checked and dialled. The
   * first call returns the connection of the runtime's own connect. Later calls dial a new one. The
   * session closes the remaining ones when the connection ends. Rejects with a `DialError` or
   * `RefusedConnection`.
   */
  dialUpstream(): Promise<Socket>
  /**
   * Resolves when the next request may be read. A flood of requests then becomes slow and causes no
   * flood of decisions.
   */
  pace(): Promise<void>
  /**
   * Returns the verdict of the current policy on a request. `path` is the request target's path,
   * without the query, as it will be sent.
   */
  decide(method: string, path: string): RequestVerdict
  /** Logs a request, once for each, when it is decided. */
  onDecision(request: ObservedRequest): void
  /** Aborted when the connection is cut: by a new policy, or because the runtime is gone. */
  readonly signal: AbortSignal
}

/**
 * Terminates TLS of connections whose rule or secrets need it. It reads each request, calls
 * `decide`, inserts secrets, and speaks verified TLS to the upstream. Resolves when the connection
 * has ended. Rejects with a `RefusedConnection` if it refuses the connection.
 */
export interface Terminator {
  serve(connection: ConnectionToTerminate): Promise<void>
}

/** The refusal of a connection, with the reason that the decisions log shows. */
export class RefusedConnection extends Error {
  override readonly name = 'RefusedConnection'
  readonly reason: DenialReason

  constructor(reason: DenialReason) {
    super(reason)
    this.reason = reason
  }
}

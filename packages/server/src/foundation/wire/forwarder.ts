import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { CreateRuntime, HoltError } from '@holt/protocol'
import type { Vouch } from '../request/vouch.ts'
import type { RawHeaders } from './end-to-end-headers.ts'

/** A thing that one host of a fleet owns. A request that is placed on a host names the host. */
export interface Owned {
  readonly type: 'runtime' | 'build' | 'host'
  /** The project of the thing, or of the caller. */
  readonly projectId: string
  readonly id: string
  /**
   * The runtime has to run for the request. `request`: a paused one is resumed if requests may do
   * that. `resume`: in any case. Absent: its rows are enough.
   */
  readonly wakes?: 'request' | 'resume'
}

/** A client's request for something that another host may own. */
export interface Forwardable {
  readonly owned: Owned
  readonly request: IncomingMessage
  /** The path and query for the owner. */
  readonly target: string
  /**
   * The client's headers for the owner, without credentials and without those of one connection.
   */
  readonly headers: RawHeaders
  /**
   * Returns the headers of the owner's answer for the client. The owner may be a worker in a
   * stranger's hands.
   */
  readonly answerHeaders: (answer: IncomingMessage) => RawHeaders
  /** The facts about the client. The forwarder adds the id of this host. */
  readonly vouch: Omit<Vouch, 'entryHostId'>
  /** The `traceparent` of the request's span. Null: nothing is traced here. */
  readonly traceparent: string | null
  /** True if many bytes may pass. They use another connection than small requests. */
  readonly isBulk: boolean
}

/** A forwarded request and the response to its client. */
export interface ForwardedRequest extends Forwardable {
  readonly response: ServerResponse
  /** The body, if this host has read it already. */
  readonly body?: Buffer
  /** Called before the head of the answer is written. Returns headers of this host to add. */
  readonly beforeAnswer: () => Readonly<Record<string, string>>
}

/** A forwarded upgrade and the connection of its client. */
export interface ForwardedUpgrade extends Forwardable {
  readonly socket: Duplex
  /** The bytes that followed the request's headers. */
  readonly head: Buffer
  /** The protocol that the client asks for. */
  readonly upgrade: string
}

/** The thing that a placed request makes. Builds with the same key have the same host. */
export type WantedThing =
  | { readonly type: 'runtime'; readonly create: CreateRuntime }
  | { readonly type: 'build'; readonly homeKey: string }

/** A request on its way to the host that makes a runtime or runs a build. */
export interface PlacedRequest<Result> {
  readonly projectId: string
  readonly wanted: WantedThing
  /** The id of the request. */
  readonly requestId: string
  /** Makes the thing on this host. */
  readonly here: () => Promise<Result>
  /** Sends the request to a host. */
  readonly there: (owned: Owned) => Promise<Result>
}

/** A host has not taken a placed request. It has done nothing of it. */
export class HostRefused extends Error {
  override readonly name = 'HostRefused'
  /** The error for a client whose request no host takes. */
  readonly answer: HoltError

  constructor(answer: HoltError, cause?: unknown) {
    super(answer.message, { cause })
    this.answer = answer
  }
}

/** Sends requests to the hosts that own their runtimes and builds. */
export interface Forwarder {
  /**
   * Makes a runtime, or starts a build, on the host that placement chooses. If a host has no room,
   * the next one is tried, three at most. Throws the last refusal, or `unavailable` if no host is
   * ready.
   */
  place<Result>(placed: PlacedRequest<Result>): Promise<Result>
  /**
   * Returns true if another host owns a thing, or shall resume a paused runtime without an owner.
   * False: this host answers, also with a 404.
   */
  isElsewhere(owned: Owned): Promise<boolean>
  /**
   * Sends a request to the owner and its answer to the client. Resolves after the answer with its
   * status, or with null if this host owns the thing by now and nothing was sent. Throws the
   * client's error if no answer has begun. An answer that breaks off destroys the response. A
   * request that is placed on a host goes to this host only: throws `HostRefused` if the host does
   * not take it, and its error if the host cannot do it now.
   */
  forward(forwarded: ForwardedRequest): Promise<number | null>
  /**
   * Connects a client to the owner after an upgrade, or writes the owner's refusal. Resolves with
   * the status of the answer, or with null as `forward` does.
   */
  forwardUpgrade(forwarded: ForwardedUpgrade): Promise<number | null>
}

/** The other hosts of a fleet, for the HTTP application. */
export interface FleetWire {
  readonly forwarder: Forwarder
  /**
   * Sets the function that serves HTTP/1.1 on a connection with a vouch. Each connection carries
   * one request that another host has forwarded.
   */
  serveWith(serve: (connection: Duplex) => void): void
}

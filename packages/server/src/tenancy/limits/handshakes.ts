import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { Groups } from './connection-groups.ts'
import { peerName } from './peer-name.ts'

/**
 * The connections whose TLS handshake is not finished. Above the limit, the oldest one of the peer
 * with most of them is dropped. A client that opens thousands of silent connections therefore loses
 * its own.
 */
export class Handshakes {
  readonly #most: number
  readonly #pending = new Groups<Socket>()
  /** The pending connections by the client's address and port. */
  readonly #byClient = new Map<string, Socket>()

  constructor(most: number) {
    this.#most = most
  }

  /** The number of unfinished handshakes. */
  get size(): number {
    return this.#pending.size
  }

  /** Counts a connection until its handshake ends or the connection is closed. */
  begin(socket: Socket): void {
    const client = clientOf(socket)
    const peer = peerName(socket.remoteAddress)
    this.#byClient.set(client, socket)
    this.#pending.add(peer, socket)
    socket.once('close', () => this.#end(client, peer, socket))
    if (this.#pending.size <= this.#most) return
    const [first = socket, second] = this.#pending.largest
    const dropped = first === socket ? (second ?? first) : first
    this.#end(clientOf(dropped), peerName(dropped.remoteAddress), dropped)
    dropped.destroy()
  }

  /** Ends the handshake of a connection. Returns the connection that carries it, if it is known. */
  end(secured: TLSSocket): Socket | undefined {
    const client = clientOf(secured)
    const socket = this.#byClient.get(client)
    if (socket !== undefined) this.#end(client, peerName(secured.remoteAddress), socket)
    return socket
  }

  /** Drops every connection whose handshake is not finished. */
  close(): void {
    for (const socket of this.#byClient.values()) socket.destroy()
  }

  #end(client: string, peer: string, socket: Socket): void {
    if (this.#byClient.get(client) === socket) this.#byClient.delete(client)
    this.#pending.delete(peer, socket)
  }
}

/** Names the client's end of a connection, which is unique among the open ones of a listener. */
function clientOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

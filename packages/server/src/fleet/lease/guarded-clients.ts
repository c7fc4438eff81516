import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { guardWrites } from '@holt/async'
import type { ThisHost } from '../../foundation/host/this-host.ts'

/**
 * The connections of clients, whatever they speak: requests, streams, terminals, ports. Each chunk
 * of an answer is written only while the host has its lease.
 */
export class GuardedClients {
  readonly #sockets = new Set<Socket>()

  /** Guards the connections that a server accepts from now on. */
  guard(server: Server, host: ThisHost): void {
    server.prependListener('connection', (socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
      // A look at the lease cuts this connection, if the lease has ended while it was open.
      // Connections that are opened later are told that the host is fenced.
      guardWrites(socket, () => {
        void host.fenced
        return !socket.destroyed
      })
    })
  }

  /** Resets every connection. */
  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy()
    this.#sockets.clear()
  }
}

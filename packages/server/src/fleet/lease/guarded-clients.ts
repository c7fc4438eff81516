import type { Server } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { guardWrites } from '@holt/async'
import type { ThisHost } from '../../foundation/host/this-host.ts'

/**
 * The connections of clients, whatever they speak: requests, streams, terminals, ports. Also the
 * connections that carry requests of other hosts. Each chunk of an answer is written only while the
 * host has its lease.
 */
export class GuardedClients {
  readonly #connections = new Set<Duplex>()

  /** Guards the connections that a server accepts from now on. */
  guard(server: Server, host: ThisHost): void {
    server.prependListener('connection', (socket) => this.add(socket, host))
  }

  /** Guards a connection. */
  add(connection: Duplex, host: ThisHost): void {
    this.#connections.add(connection)
    connection.once('close', () => this.#connections.delete(connection))
    // A look at the lease cuts this connection, if the lease has ended while it was open.
    // Connections that are opened later are told that the host is fenced.
    guardWrites(connection, () => {
      void host.fenced
      return !connection.destroyed
    })
  }

  /** Resets every connection. */
  reset(): void {
    for (const connection of this.#connections) {
      if (connection instanceof Socket) connection.resetAndDestroy()
      else connection.destroy()
    }
    this.#connections.clear()
  }
}

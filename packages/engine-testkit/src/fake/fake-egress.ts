import { type Duplex, duplexPair } from 'node:stream'
import type { Egress, RuntimeId } from '@holt/engine'
import type { FakeRuntimes } from './fake-runtimes.ts'

interface Opening {
  accept: (connection: Duplex) => void
  readonly connections: Set<Duplex>
}

/** Egress sockets in memory: each connection is a pair of pipes. */
export class FakeEgress implements Egress {
  readonly #openings = new Map<RuntimeId, Opening>()
  readonly #runtimes: FakeRuntimes

  constructor(runtimes: FakeRuntimes) {
    this.#runtimes = runtimes
  }

  async open(id: RuntimeId, accept: (connection: Duplex) => void): Promise<void> {
    this.#runtimes.find(id)
    const opening = this.#openings.get(id)
    if (opening === undefined) this.#openings.set(id, { accept, connections: new Set() })
    else opening.accept = accept
  }

  async close(id: RuntimeId): Promise<void> {
    const opening = this.#openings.get(id)
    this.#openings.delete(id)
    for (const connection of opening?.connections ?? []) connection.destroy()
  }

  async prepareTun(id: RuntimeId, signal: AbortSignal): Promise<'create' | 'socket'> {
    signal.throwIfAborted()
    return this.#runtimes.find(id).observed.spec.isolation === 'gvisor' ? 'create' : 'socket'
  }

  /** Closes all sockets, as the end of the process does. */
  closeAll(): void {
    for (const id of [...this.#openings.keys()]) void this.close(id)
  }

  /** Returns the guest's end of a new connection. Throws if nothing listens. */
  dial(id: RuntimeId): Duplex {
    const opening = this.#openings.get(id)
    if (opening === undefined) throw new Error(`nothing listens for the egress of ${id}`)
    const [guest, host] = duplexPair()
    for (const [end, other] of [
      [guest, host],
      [host, guest],
    ] as const) {
      opening.connections.add(end)
      end.on('error', () => {
        // The owner of the end receives the error too.
      })
      end.once('close', () => {
        opening.connections.delete(end)
        other.destroy()
      })
    }
    opening.accept(host)
    return guest
  }
}

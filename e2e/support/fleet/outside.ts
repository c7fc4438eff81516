import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** Something that was heard from a runtime. */
export interface Heard {
  /** When it arrived, in milliseconds of `performance.now()` of this process. */
  readonly at: number
  /** The address of the host through whose gateway it came; null: it has closed the connection. */
  readonly from: string | null
  /** One program in one boot of one runtime. */
  readonly voice: string
  readonly count: number
}

/**
 * The outside of a fleet: a receiver to which runtimes send `/RUNTIME/VOICE/COUNT` through their
 * gateways. It knows by one clock who sent, and through which host.
 */
export class Outside implements AsyncDisposable {
  readonly #server: Server
  readonly #heard = new Map<string, Heard[]>()
  /** The addresses of connections. A socket forgets its own when the other side has closed it. */
  readonly #addresses = new WeakMap<Socket, string>()

  private constructor() {
    this.#server = createServer((request, response) => {
      const [, runtimeId = '', voice = '', count = ''] = (request.url ?? '').split('/')
      const from = this.#addresses.get(request.socket) ?? null
      const all = this.#heard.get(runtimeId) ?? []
      all.push({ at: performance.now(), from, voice, count: Number(count) })
      this.#heard.set(runtimeId, all)
      response.writeHead(204).end()
    })
    this.#server.on('connection', (socket: Socket) => {
      if (socket.remoteAddress !== undefined) this.#addresses.set(socket, socket.remoteAddress)
    })
  }

  /** Begins to listen at an address of this machine. */
  static async listen(address: string): Promise<Outside> {
    const outside = new Outside()
    await new Promise<void>((resolve) => outside.#server.listen(0, address, resolve))
    return outside
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Returns all that was heard from a runtime, in the order of arrival. */
  of(runtimeId: string): readonly Heard[] {
    return this.#heard.get(runtimeId) ?? []
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

/** The name by which runtimes know the outside. The gateway has its address as an override. */
export const outsideName = 'outside.holt.test'

/**
 * A program for a runtime that sends to the outside until it is ended. Each request has a
 * connection of its own.
 */
export function speaker(runtimeId: string): string {
  return `
import http.client, itertools, os, time
voice = os.urandom(6).hex()
for count in itertools.count():
    try:
        connection = http.client.HTTPConnection('${outsideName}', 80, timeout=1)
        connection.request('GET', f'/${runtimeId}/{voice}/{count}')
        connection.getresponse().read()
        connection.close()
    except OSError:
        pass
    time.sleep(0.05)
`
}

import { chown, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import type { RuntimePaths } from '../installation/layout.ts'
import type { Log } from '../installation/options.ts'

/**
 * The maximum number of connections of one runtime. A guest keeps one or two, and closed ones may
 * take a moment to disappear.
 */
const CONNECTIONS_MAX = 16

/**
 * The maximum number of dials in a second. A guest dials again if a connection broke. Further dials
 * in the same second are cut a second later.
 */
const DIALS_PER_SECOND_MAX = 50

/**
 * The egress socket of one runtime. Its guest dials this Unix socket to send traffic out. The
 * socket's path identifies the runtime. While the listener is closed there is no socket file, so
 * everything inside is refused.
 */
export class EgressListener {
  readonly #paths: RuntimePaths
  readonly #log: Log
  readonly #owner: number
  readonly #sockets = new Set<Socket>()
  #server: Server | null = null
  #accept: (connection: Socket) => void = (connection) => connection.destroy()
  #dials = { second: 0, count: 0 }
  /** True while it is closed temporarily. */
  #away = false

  /** Makes a closed listener. `owner` is the host's id of the user who dials. */
  constructor(paths: RuntimePaths, log: Log, owner: number) {
    this.#owner = owner
    this.#paths = paths
    this.#log = log
  }

  /**
   * Listens, or continues to listen, and passes new connections to `accept`. Replaces the socket
   * file of an earlier process.
   */
  async open(accept: (connection: Socket) => void): Promise<void> {
    this.#accept = accept
    this.#away = false
    if (this.#server !== null) return
    const server = createServer((socket) => this.#take(socket))
    server.maxConnections = CONNECTIONS_MAX
    this.#server = server
    try {
      await rm(this.#paths.egressSocket, { force: true })
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen(this.#paths.egressSocket, () => {
          server.off('error', reject)
          server.on('error', (err) => this.#log.warn({ err, runtime: this.#paths.id }, 'egress socket'))
          resolve()
        })
      })
      await chown(this.#paths.egressSocket, this.#owner, this.#owner)
    } catch (error) {
      this.#server = null
      server.close()
      throw error
    }
  }

  /** Closes the listener until `comeBack`. */
  async leave(): Promise<void> {
    const listened = this.#server !== null
    await this.close()
    this.#away = listened
  }

  /** Listens again for the same receiver, if `leave` closed an open listener. */
  async comeBack(): Promise<void> {
    if (this.#away) await this.open(this.#accept)
  }

  /** Stops listening and cuts the open connections. */
  async close(): Promise<void> {
    this.#away = false
    const server = this.#server
    this.#server = null
    server?.close()
    for (const socket of this.#sockets) socket.destroy()
    await rm(this.#paths.egressSocket, { force: true })
  }

  #take(socket: Socket): void {
    const second = Math.floor(performance.now() / 1000)
    this.#dials = second === this.#dials.second ? { second, count: this.#dials.count + 1 } : { second, count: 1 }
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('error', () => {
      // The code that accepted it gets the error, too. A guest that disconnects is no failure of
      // the daemon.
    })
    if (this.#dials.count > DIALS_PER_SECOND_MAX) setTimeout(() => socket.destroy(), 1_000).unref()
    else this.#accept(socket)
  }
}

import { chown, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import type { RuntimePaths } from '../layout.ts'
import type { Log } from '../options.ts'

/** A guest keeps one or two connections; those it has left may take a moment to go. */
const CONNECTIONS_MAX = 16

/**
 * A guest dials again when a connection broke. One that dials more often than this in a second is
 * not let in until the second is over.
 */
const DIALS_PER_SECOND_MAX = 50

/**
 * The way out of one runtime: a Unix socket that its guest dials when it has something to carry.
 * The socket's place tells whose traffic it is. While it is closed there is no file to dial, so
 * everything inside is refused.
 */
export class EgressDoor {
  readonly #paths: RuntimePaths
  readonly #log: Log
  readonly #owner: number
  readonly #sockets = new Set<Socket>()
  #server: Server | null = null
  #accept: (connection: Socket) => void = (connection) => connection.destroy()
  #dials = { second: 0, count: 0 }
  /** True while it is closed temporarily. */
  #away = false

  /** `owner` is the host's id of the user who dials. */
  constructor(paths: RuntimePaths, log: Log, owner: number) {
    this.#owner = owner
    this.#paths = paths
    this.#log = log
  }

  /**
   * Listens, or goes on to; connections go to `accept` from now on. A socket file of an earlier
   * process is replaced.
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

  /** Closes it until `comeBack`. */
  async leave(): Promise<void> {
    const listened = this.#server !== null
    await this.close()
    this.#away = listened
  }

  /** Listens again, for whom it did before, where it was left open. */
  async comeBack(): Promise<void> {
    if (this.#away) await this.open(this.#accept)
  }

  /** Stops listening and cuts what is connected. */
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
      // The code that accepted it gets the error too. A guest that leaves is no failure of the
      // daemon.
    })
    if (this.#dials.count > DIALS_PER_SECOND_MAX) setTimeout(() => socket.destroy(), 1_000).unref()
    else this.#accept(socket)
  }
}

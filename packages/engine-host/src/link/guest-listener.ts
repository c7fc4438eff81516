import { chown, mkdir, rm } from 'node:fs/promises'
import type { ClientHttp2Session } from 'node:http2'
import { createServer, type Server, type Socket } from 'node:net'
import { Waiters } from '@holt/async'
import { EngineError, type GuestLink, type GuestRequest, type GuestResponse } from '@holt/engine'
import type { RuntimePaths } from '../installation/layout.ts'
import type { Log } from '../installation/options.ts'
import { openSession } from './guest-session.ts'
import { type ItemAnswer, sendRequest } from './send-request.ts'

/**
 * The maximum number of connections of one runtime: those that may become its session, and replaced
 * ones that are not yet closed.
 */
const CONNECTIONS_MAX = 4

/**
 * The maximum number of dials in a second. A guest dials once in a while. Further dials in the same
 * second are cut a second later.
 */
const DIALS_PER_SECOND_MAX = 50

/** The request after which the guest closes its connection. */
const QUIESCE = '/v1/quiesce'

/** The time for the guest to close its end before the host closes its own, in milliseconds. */
const FAREWELL_TIMEOUT_MS = 1_000

/**
 * The listener of one runtime: a Unix socket that its guest dials, and the newest connection as the
 * link. Only the socket's path identifies the guest; its own messages do not.
 */
export class GuestListener implements GuestLink {
  readonly #paths: RuntimePaths
  readonly #log: Log
  readonly #owner: number
  readonly #onDrop: () => void
  readonly #sockets = new Set<Socket>()
  readonly #items = new Set<ItemAnswer>()
  readonly #waiting = new Waiters()
  #server: Server | null = null
  #session: ClientHttp2Session | null = null
  #dials = { second: 0, count: 0 }

  /**
   * Makes a closed listener. `owner` is the host's id of the user who dials. `onDrop` is called
   * when the connection ends, because the runtime may have ended.
   */
  constructor(
    paths: RuntimePaths,
    log: Log,
    { owner, onDrop }: { readonly owner: number; readonly onDrop: () => void },
  ) {
    this.#owner = owner
    this.#paths = paths
    this.#log = log
    this.#onDrop = onDrop
  }

  /**
   * True if requests can be sent. A session that its guest has closed accepts no further request,
   * though its last streams may run for long.
   */
  get connected(): boolean {
    return this.#session !== null && !this.#session.closed && !this.#session.destroyed
  }

  /** Listens. Replaces the socket file of an earlier process. */
  async open(): Promise<void> {
    if (this.#server !== null) return
    await mkdir(this.#paths.socketDir, { recursive: true, mode: 0o700 })
    await chown(this.#paths.socketDir, this.#owner, this.#owner)
    await rm(this.#paths.socket, { force: true })
    const server = createServer((socket) => this.#accept(socket))
    server.maxConnections = CONNECTIONS_MAX
    this.#server = server
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(this.#paths.socket, () => {
        server.off('error', reject)
        server.on('error', (err) => this.#log.warn({ err, runtime: this.#paths.id }, 'guest socket'))
        resolve()
      })
    })
    await chown(this.#paths.socket, this.#owner, this.#owner)
  }

  /** Resolves when a guest is connected. Rejects with the reason of `close` or of the signal. */
  async whenConnected(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (!this.connected) await this.#waiting.wait(signal)
  }

  request(request: GuestRequest): Promise<GuestResponse> {
    if (this.#session === null || !this.connected)
      return Promise.reject(new EngineError('unavailable', 'the guest is not connected'))
    return request.path.startsWith(QUIESCE)
      ? this.#quiesce(this.#session, request)
      : sendRequest(this.#session, request, this.#items)
  }

  /**
   * Sends a `quiesce`, after which the guest ends its streams and the connection. Items that it has
   * sent by then must not wait in HTTP/2 for their reader. No later request may use this
   * connection: it waits for the guest to connect again.
   */
  async #quiesce(session: ClientHttp2Session, request: GuestRequest): Promise<GuestResponse> {
    for (const each of this.#items) each.takeIn(true)
    let done = false
    try {
      const response = await sendRequest(session, request, this.#items)
      done = response.status === 200
      if (done) session.close()
      return response
    } finally {
      if (!done) for (const each of this.#items) each.takeIn(false)
    }
  }

  /**
   * Stops listening and ends the connection from both sides, so that the guest holds no descriptor
   * of the host's any more. gVisor cannot checkpoint a runtime that does. Resolves when the guest
   * has closed its end or has run out of time.
   */
  async leave(): Promise<void> {
    await this.#stopListening()
    const closed = [...this.#sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)))
    this.#session?.close()
    const timer = setTimeout(() => this.#destroySockets(), FAREWELL_TIMEOUT_MS)
    await Promise.all(closed)
    clearTimeout(timer)
  }

  /** Stops listening and cuts the connection. Rejects waiting callers with `reason`. */
  async close(reason: EngineError): Promise<void> {
    this.#waiting.reject(reason)
    this.#destroySockets()
    await this.#stopListening()
  }

  #accept(socket: Socket): void {
    const second = Math.floor(performance.now() / 1000)
    this.#dials = second === this.#dials.second ? { second, count: this.#dials.count + 1 } : { second, count: 1 }
    socket.on('error', () => {
      // The session reports it.
    })
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    if (this.#dials.count > DIALS_PER_SECOND_MAX) {
      setTimeout(() => socket.destroy(), 1_000).unref()
      return
    }
    openSession(socket).then(
      (session) => this.#adopt(session),
      (err: unknown) => this.#log.debug({ err, runtime: this.#paths.id }, 'a connection that is not a guest'),
    )
  }

  /**
   * Makes the newest connection the session. An older one is a leftover of a restore or a restart.
   * A connection that was made while the listener was left is closed like the earlier one.
   */
  #adopt(session: ClientHttp2Session): void {
    if (session.closed || session.destroyed) return
    if (this.#server === null) {
      session.close()
      return
    }
    const older = this.#session
    this.#session = session
    session.once('close', () => {
      if (this.#session === session) this.#session = null
      this.#onDrop()
    })
    older?.destroy()
    this.#waiting.resolve()
  }

  async #stopListening(): Promise<void> {
    const server = this.#server
    this.#server = null
    server?.close()
    await rm(this.#paths.socket, { force: true })
  }

  #destroySockets(): void {
    this.#session?.destroy()
    for (const socket of this.#sockets) socket.destroy()
  }
}

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { peerName } from '../limits/peer-name.ts'
import { Groups } from './connection-groups.ts'
import type { ConnectionLimits } from './connection-limits.ts'
import { Rota } from './rota.ts'

/** How often connections are looked at whose client takes nothing. */
const sweepMs = 5_000

/** With so many connections requests are answered by turns. */
const crowd = 16

/** A request that has come, and what answers it. */
interface Asked {
  readonly request: IncomingMessage
  readonly answer: () => void
}

/** One connection, as long as it is open. */
interface Connection {
  readonly socket: Socket
  readonly peer: string
  /** The project of which somebody has shown a valid key over it; null: a stranger's. */
  project: string | null
  /** True while something else watches it: a visit to a port. */
  lent: boolean
  /**
   * True once it speaks another protocol. Answers to what was asked before change nothing about
   * that.
   */
  upgraded: boolean
  /** Requests that are not answered yet: the one under way, and those that wait for it. */
  requests: number
  readonly waiting: Asked[]
  /** Bytes that had left when it was last seen to move, and when that was (`performance.now`). */
  sentBytes: number
  movedAt: number
}

/**
 * Why a connection is taken away: too many strangers, too many connections, too many requests that
 * wait on it, or an answer that its client does not take.
 */
export type DropReason = 'strangers' | 'connections' | 'requests' | 'unread'

/**
 * How many connections there are: of strangers, of clients at rest, and those over which something
 * is under way.
 */
export type ConnectionCounts = Readonly<Record<'stranger' | 'resting' | 'busy', number>>

/** What connections ask and tell. */
export interface ConnectionHooks {
  readonly onDrop: (why: DropReason) => void
  /** Whose a request seems to be before anybody has looked at its key; null: nobody's. */
  readonly likelyProject: (request: IncomingMessage) => string | null
}

const recognitions = new WeakMap<Socket, (projectId: string) => void>()

const over = new WeakSet<Duplex>()

/** Whether a connection has had its last answer. */
export function hadLastAnswer(socket: Duplex): boolean {
  return over.has(socket)
}

/** Notes that the client of a connection has shown a valid key of a project. */
export function recognise(socket: Socket, projectId: string): void {
  recognitions.get(socket)?.(projectId)
}

/**
 * The connections of a server. Where there are too many it is not the newest one that goes: one of
 * a stranger does, who has shown no key, of the peer that has most of them; then one at rest, of
 * the project that has most of those. So whoever opens thousands takes his own place away, and
 * nobody else's.
 */
export class Connections {
  readonly #limits: ConnectionLimits
  readonly #all = new Map<Socket, Connection>()
  /** Those of strangers, by peer, the oldest first. */
  readonly #strangers = new Groups<Connection>()
  /** Those of clients that are at rest, by project, the one that rests longest first. */
  readonly #resting = new Groups<Connection>()
  /** Requests of all connections that wait for those before them. */
  #waiting = 0
  readonly #rota = new Rota()
  readonly #hooks: ConnectionHooks
  readonly #timer: NodeJS.Timeout

  constructor(server: Server, limits: ConnectionLimits, hooks: Partial<ConnectionHooks> = {}) {
    this.#limits = limits
    this.#hooks = { onDrop: () => {}, likelyProject: () => null, ...hooks }
    server.on('connection', (socket: Socket) => this.#add(socket))
    server.prependListener('upgrade', ({ socket }) => this.#upgrade(socket))
    this.#timer = setInterval(() => this.#sweep(), Math.min(sweepMs, limits.unreadTimeoutMs)).unref()
    server.once('close', () => clearInterval(this.#timer))
  }

  /** How many there are. */
  get size(): number {
    return this.#all.size
  }

  /** How many there are of each kind. */
  get counts(): ConnectionCounts {
    const [stranger, resting] = [this.#strangers.size, this.#resting.size]
    return { stranger, resting, busy: this.size - stranger - resting }
  }

  /**
   * Answers a request when those before it on its connection have been answered, and taken. Node
   * tells of all that come in one breath at once; answered at once, a client that reads nothing
   * would have them all kept for it. A connection on which more wait than anybody needs is cut, and
   * what else came with them is read no further.
   */
  inTurn(request: IncomingMessage, response: ServerResponse, answer: () => void): void {
    const { socket } = request
    const connection = this.#all.get(socket)
    // It was cut, or had its last answer: what comes after that is nobody's any more.
    if (connection === undefined || hadLastAnswer(socket)) return
    connection.requests += 1
    connection.movedAt = performance.now()
    this.#stir(connection)
    // Many parts of the service want to know when an answer is over.
    response.setMaxListeners(32).once('close', () => this.#end(connection, response.shouldKeepAlive))
    if (connection.requests > this.#maxPipelined) {
      this.#drop(connection, 'requests')
      stopParsing(socket)
    } else if (connection.requests > 1) {
      connection.waiting.push({ request, answer })
      this.#waiting += 1
    } else this.#answer(connection, { request, answer })
  }

  /**
   * How many requests a connection may have under way: where very many wait in all, few. So what
   * they take is bounded, and who sends some at once is served.
   */
  get #maxPipelined(): number {
    const { maxPipelined, maxPipelinedInCrowd, maxWaiting } = this.#limits
    return this.#waiting < maxWaiting ? maxPipelined : Math.min(maxPipelined, maxPipelinedInCrowd)
  }

  /**
   * Leaves a connection to others until its request is answered. It counts, and is not taken away.
   */
  lend(socket: Socket): void {
    const connection = this.#all.get(socket)
    if (connection === undefined || connection.lent) return
    connection.lent = true
    this.#place(connection)
  }

  /** Leaves a connection to whoever speaks its new protocol, until it ends. */
  #upgrade(socket: Socket): void {
    const connection = this.#all.get(socket)
    if (connection === undefined) return
    connection.upgraded = true
    this.#place(connection)
  }

  #add(socket: Socket): void {
    const connection: Connection = {
      socket,
      peer: peerName(socket.remoteAddress),
      project: null,
      lent: false,
      upgraded: false,
      requests: 0,
      waiting: [],
      sentBytes: 0,
      movedAt: performance.now(),
    }
    this.#all.set(socket, connection)
    this.#rota.noteArrival()
    this.#place(connection)
    recognitions.set(socket, (projectId) => {
      this.#stir(connection)
      connection.project = projectId
      this.#place(connection)
    })
    socket.once('close', () => this.#forget(connection))
    if (this.#strangers.size > this.#limits.maxStrangers) this.#drop(this.#oldestStranger(connection), 'strangers')
    else if (this.#all.size > this.#limits.maxConnections) this.#makeRoom(connection)
  }

  #end(connection: Connection, goesOn: boolean): void {
    // After an answer that says it is the last there is none, whatever was read along with its
    // request.
    if (!goesOn) {
      over.add(connection.socket)
      this.#forgetWaiting(connection)
    }
    connection.requests -= 1
    connection.lent = false
    if (!this.#all.has(connection.socket)) return
    this.#place(connection)
    const next = connection.waiting.shift()
    if (next === undefined) return
    this.#waiting -= 1
    this.#answer(connection, next)
  }

  #forgetWaiting({ waiting }: Connection): void {
    this.#waiting -= waiting.length
    waiting.length = 0
  }

  /**
   * Answers at once, or in a crowd when it is its client's turn: over a connection of which nobody
   * knows yet whose it is, that of the project whose key it seems to have, for at the same address
   * there may be a stranger with any number of them. Who has left by then costs next to nothing,
   * also by the thousand.
   */
  #answer(connection: Connection, { request, answer }: Asked): void {
    if (this.#all.size < crowd) {
      answer()
      return
    }
    const owner = connection.project ?? this.#hooks.likelyProject(request) ?? connection.peer
    this.#rota.add(owner, () => {
      const isThere = this.#all.has(connection.socket)
      if (isThere) answer()
      return isThere
    })
  }

  #makeRoom(newest: Connection): void {
    const [longest = newest] = this.#resting.largest
    this.#drop(this.#strangers.size > 1 ? this.#oldestStranger(newest) : longest, 'connections')
  }

  /**
   * The oldest of the peer that has most, but for the one that has just come where there is
   * another.
   */
  #oldestStranger(newest: Connection): Connection {
    const [first = newest, second] = this.#strangers.largest
    return first === newest ? (second ?? newest) : first
  }

  #drop(connection: Connection, why: DropReason): void {
    this.#hooks.onDrop(why)
    this.#forget(connection)
    connection.socket.destroy()
  }

  #forget(connection: Connection): void {
    this.#all.delete(connection.socket)
    this.#forgetWaiting(connection)
    this.#stir(connection)
    this.#strangers.delete(connection.peer, connection)
  }

  /** Puts a connection where it belongs: among strangers, among those at rest, or nowhere. */
  #place(connection: Connection): void {
    const { project, requests, peer } = connection
    const lent = connection.lent || connection.upgraded
    this.#stir(connection)
    if (project === null && !lent) {
      this.#strangers.add(peer, connection)
      return
    }
    this.#strangers.delete(peer, connection)
    if (project !== null && !lent && requests === 0) this.#resting.add(project, connection)
  }

  /** Takes a connection from those at rest, if it is one. */
  #stir(connection: Connection): void {
    if (connection.project !== null) this.#resting.delete(connection.project, connection)
  }

  /** Cuts connections whose client has taken nothing for too long of what there is for it. */
  #sweep(): void {
    const now = performance.now()
    for (const connection of this.#all.values()) {
      const { socket, lent, upgraded } = connection
      const sentBytes = socket.bytesWritten - socket.writableLength
      if (lent || upgraded || socket.writableLength === 0 || sentBytes !== connection.sentBytes) {
        connection.sentBytes = sentBytes
        connection.movedAt = now
      } else if (now - connection.movedAt > this.#limits.unreadTimeoutMs) this.#drop(connection, 'unread')
    }
  }
}

/**
 * Has Node make no more requests of the bytes that have come already: a piece of 64 KiB may have
 * two thousand, and each is kept until the event loop comes round to close the connection. Node has
 * no call for that. Its parser stops where its owner says that another protocol begins, by a 2
 * (`parserOnIncoming` of `lib/_http_server.js`).
 */
function stopParsing(socket: Socket): void {
  const { parser } = socket as Socket & { readonly parser?: { onIncoming: (next: { upgrade: boolean }) => number } }
  if (parser == null) return
  parser.onIncoming = (next) => {
    next.upgrade = false
    return 2
  }
}

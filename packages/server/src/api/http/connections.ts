import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ConnectionLimits } from '../../foundation/config/connection-limits.ts'
import type { ConnectionCounts, DropReason } from '../../foundation/metrics/http-metrics.ts'
import { clientAddress } from '../../foundation/request/client-address.ts'
import { Groups } from '../../tenancy/limits/connection-groups.ts'
import { peerName } from '../../tenancy/limits/peer-name.ts'
import { FairQueue } from './fair-queue.ts'

/** The interval at which connections are checked for clients that read nothing, in milliseconds. */
const sweepMs = 5_000

/** The number of connections from which requests are answered in rotation. */
const crowd = 16

/** A request that has arrived, and the function that answers it. */
interface Asked {
  readonly request: IncomingMessage
  readonly answer: () => void
}

/** An open connection. */
interface Connection {
  readonly socket: Socket
  /** The host of its client. Behind a trusted proxy, that of the last request. */
  peer: string
  /** The project whose valid key a client has shown over it; null if none was shown. */
  project: string | null
  /** True while other code watches it: during a visit to a port. */
  lent: boolean
  /**
   * True after it has changed to another protocol. Answers to earlier requests do not change that.
   */
  upgraded: boolean
  /** The number of unanswered requests: the current one, and those that wait for it. */
  requests: number
  readonly waiting: Asked[]
  /**
   * The bytes that had left when it last made progress, and the time of that (`performance.now`).
   */
  sentBytes: number
  movedAt: number
}

/** The callbacks of the connections. */
export interface ConnectionHooks {
  readonly onDrop: (why: DropReason) => void
  /**
   * Returns the project that a request seems to belong to, before its key is checked; null if
   * unknown.
   */
  readonly likelyProject: (request: IncomingMessage) => string | null
}

const recognitions = new WeakMap<Socket, (projectId: string) => void>()

const over = new WeakSet<Duplex>()

/** Returns true if a connection has had its last answer. */
export function hadLastAnswer(socket: Duplex): boolean {
  return over.has(socket)
}

/** Notes that the client of a connection has shown a valid key of a project. */
export function recognise(socket: Socket, projectId: string): void {
  recognitions.get(socket)?.(projectId)
}

/**
 * The connections of a server. When there are too many, an older one is dropped instead of the
 * newest. The first choice is a stranger, which has shown no key, of the peer with most strangers.
 * The second choice is a connection at rest, of the project with most of those. A client that opens
 * thousands of connections therefore loses its own, and no others.
 */
export class Connections {
  readonly #limits: ConnectionLimits
  readonly #all = new Map<Socket, Connection>()
  /** The connections of strangers, by peer, the oldest first. */
  readonly #strangers = new Groups<Connection>()
  /** The connections of clients at rest, by project, the longest resting first. */
  readonly #resting = new Groups<Connection>()
  /** The number of requests of all connections that wait for earlier ones. */
  #waiting = 0
  readonly #queue = new FairQueue()
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

  /** The number of connections. */
  get size(): number {
    return this.#all.size
  }

  /** The numbers of connections of each kind. */
  get counts(): ConnectionCounts {
    const [stranger, resting] = [this.#strangers.size, this.#resting.size]
    return { stranger, resting, busy: this.size - stranger - resting }
  }

  /**
   * Answers a request when the earlier ones on its connection have been answered and their answers
   * read. Node emits all requests that arrive in one read at once. If they were answered at once,
   * the answers for a client that reads nothing would all be kept. A connection with too many
   * waiting requests is cut, and its remaining input is not parsed.
   */
  answerInOrder(request: IncomingMessage, response: ServerResponse, answer: () => void): void {
    const { socket } = request
    const connection = this.#all.get(socket)
    // The connection was cut or had its last answer. Later requests on it are ignored.
    if (connection === undefined || hadLastAnswer(socket)) return
    connection.requests += 1
    connection.movedAt = performance.now()
    this.#comesFrom(connection, peerName(clientAddress(request)))
    this.#stir(connection)
    // Many parts of the service listen for the end of an answer.
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
   * The maximum number of unanswered requests of a connection. It is small if very many wait in
   * total. This limits the memory of waiting requests, and still serves a client that pipelines a
   * few.
   */
  get #maxPipelined(): number {
    const { maxPipelined, maxPipelinedInCrowd, maxWaiting } = this.#limits
    return this.#waiting < maxWaiting ? maxPipelined : Math.min(maxPipelined, maxPipelinedInCrowd)
  }

  /**
   * Leaves a connection to other code until its request is answered. It still counts, but is not
   * dropped.
   */
  lend(socket: Socket): void {
    const connection = this.#all.get(socket)
    if (connection === undefined || connection.lent) return
    connection.lent = true
    this.#place(connection)
  }

  /** Leaves a connection to the code that speaks its new protocol, until it ends. */
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
    this.#queue.noteArrival()
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
    // No request follows the last answer, even if one was read together with its request.
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
   * Answers at once, or in a crowd when it is the owner's turn. The owner is the project of the
   * connection. If that is unknown, it is the project of the key that the request seems to have.
   * The address alone would not do: a stranger with any number of connections may share it. A
   * client that has left meanwhile costs almost nothing, even among thousands.
   */
  #answer(connection: Connection, { request, answer }: Asked): void {
    if (this.#all.size < crowd) {
      answer()
      return
    }
    const owner = connection.project ?? this.#hooks.likelyProject(request) ?? connection.peer
    this.#queue.add(owner, () => {
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
   * Returns the oldest connection of the peer with most strangers. Avoids the newest connection if
   * that peer has another one.
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

  /** Counts a connection as one of a client: a proxy has clients of several hosts over one. */
  #comesFrom(connection: Connection, peer: string): void {
    if (connection.peer === peer) return
    this.#strangers.delete(connection.peer, connection)
    connection.peer = peer
    this.#place(connection)
  }

  /** Puts a connection into its group: strangers, those at rest, or none. */
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

  /** Removes a connection from those at rest. */
  #stir(connection: Connection): void {
    if (connection.project !== null) this.#resting.delete(connection.project, connection)
  }

  /** Drops connections whose client has read nothing of its output for too long. */
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
 * Stops Node from making more requests of the bytes that have already arrived. A chunk of 64 KiB
 * may hold two thousand, and each is kept until the event loop closes the connection. Node has no
 * API for that. Its parser stops if its owner returns 2, which means that another protocol begins
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

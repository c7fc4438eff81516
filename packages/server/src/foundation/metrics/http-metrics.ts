import { STATUS_CODES } from 'node:http'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { clientLeft } from '../wire/client-gone.ts'

/**
 * The reason why a connection is dropped: too many connections without a key (`strangers`),
 * connections or waiting requests, or an answer that its client does not read.
 */
export type DropReason = 'strangers' | 'connections' | 'requests' | 'unread'

/**
 * The numbers of connections: those without a key, idle ones with a key, and those with requests in
 * progress.
 */
export type ConnectionCounts = Readonly<Record<'stranger' | 'resting' | 'busy', number>>

/** The buckets in seconds, from an answer from memory to a restore of much memory. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120]

/** A request that has ended. */
export interface EndedRequest {
  readonly method: string
  /** The path in the route table, or `none`. */
  readonly route: string
  /** The status of the answer. 499 if the client disconnected before it began. */
  readonly status: number
  /** The time until the answer began, in seconds. */
  readonly seconds: number
  /** The API that the client uses. Default: Holt's own, which has no label. */
  readonly surface?: 'e2b'
}

/**
 * The route label of visits to ports. Their durations are not measured, because they depend on the
 * programs.
 */
const portRoute = 'port'

/** The metrics of requests and streams. */
export class HttpMetrics {
  readonly #requests: Counter
  readonly #seconds: Histogram
  readonly #open: Gauge
  readonly #dropped: Counter
  #counts: () => Partial<ConnectionCounts> = () => ({})

  constructor(registry: Registry) {
    const registers = [registry]
    this.#requests = new Counter({
      name: 'holt_http_requests_total',
      help: 'Requests that have ended: of the API by their route, and to programs in runtimes as the route "port". The status 499 is a client that left before its answer began.',
      labelNames: ['method', 'route', 'status', 'surface'],
      registers,
    })
    this.#seconds = new Histogram({
      name: 'holt_http_request_duration_seconds',
      help: 'Time from the headers of a request to those of its answer.',
      labelNames: ['method', 'route', 'surface'],
      buckets,
      registers,
    })
    this.#open = new Gauge({
      name: 'holt_http_requests_open',
      help: 'Requests of the API that have not ended, streams among them.',
      registers,
    })
    this.#dropped = new Counter({
      name: 'holt_connections_dropped_total',
      help: 'Connections of clients that the service took away: past the limit of strangers (no key was shown) or of all connections, with too many requests that wait, or whose client takes nothing.',
      labelNames: ['reason'],
      registers,
    })
    const counts = () => this.#counts()
    new Gauge({
      name: 'holt_connections',
      help: 'Connections of clients: of strangers (no key was shown), of known clients at rest, and those over which something is under way, upgrades and visits to ports among them.',
      labelNames: ['kind'],
      registers,
      collect() {
        for (const [kind, count] of Object.entries(counts())) this.set({ kind }, count)
      },
    })
  }

  /** Sets the source of the connection counts. */
  watchConnections(counts: () => ConnectionCounts): void {
    this.#counts = counts
  }

  noteDrop(reason: DropReason): void {
    this.#dropped.inc({ reason })
  }

  /**
   * Counts a request to a port, with the status of the program or the service. A status that HTTP
   * does not know is counted as `other`, because programs can choose any.
   */
  notePort(method: string, status: number): void {
    const isKnown = status === clientLeft || STATUS_CODES[status] !== undefined
    this.#requests.inc({ method, route: portRoute, status: isKnown ? status : 'other' })
  }

  /** Notes the start of a request. Returns the function to call at its end. */
  begin(): (ended: EndedRequest) => void {
    this.#open.inc()
    return ({ method, route, status, seconds, surface }) => {
      const which = { method, route, ...(surface === undefined ? {} : { surface }) }
      this.#open.dec()
      this.#requests.inc({ ...which, status })
      this.#seconds.observe(which, seconds)
    }
  }
}

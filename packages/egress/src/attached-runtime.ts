import { constants, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Duplex } from 'node:stream'
import { SyntheticAddresses } from './addresses/synthetic-addresses.ts'
import type {
  AttachedSecret,
  AttachOptions,
  Decision,
  EffectivePolicy,
  Log,
  RuntimeEgress,
  TestedDecision,
  Traffic,
} from './contract/gateway-contract.ts'
import type { Terminator } from './contract/terminator.ts'
import type { NameService } from './dns/answer-query.ts'
import { serveQuery } from './dns/serve-query.ts'
import type { Target } from './policy/decide.ts'
import { type LookupResult, Resolver } from './resolver/resolver.ts'
import type { DnsServer } from './resolver/servers.ts'
import { readProcess } from './session/asking-process.ts'
import { breakOff } from './session/break-off.ts'
import { Connection } from './session/connection.ts'
import type { ConnectionHost } from './session/connection-host.ts'
import { RequestRate } from './session/rate.ts'
import { readConnect } from './session/read-connect.ts'
import { refuseStream } from './session/refuse-stream.ts'
import { endFlood, maxStreams, serveSession } from './session/serve-session.ts'
import { type TestTarget, testConnection } from './test-connection.ts'
import { withoutDenied } from './upstream/denied-networks.ts'
import { findUpstream, type Upstream, type UpstreamRules } from './upstream/find-upstream.ts'

/**
 * The parts that all runtimes of a gateway share: settings, and nothing that one of them can fill.
 */
export interface SharedParts {
  readonly upstreamRules: UpstreamRules
  readonly servers: () => Promise<readonly DnsServer[]>
  readonly terminator: Terminator
  readonly log: Log
}

/** The maximum number of connections of the guest to its socket at once. It needs one. */
const maxSessions = 4
/**
 * The times after which an idle connection is closed, in milliseconds. It is shorter if one side
 * has ended.
 */
const idleMs = 60 * 60_000
const halfClosedIdleMs = 10 * 60_000
const sweepMs = 30_000
/** The shortest pause between two logged refusals for a limit, in milliseconds. */
const limitLogMs = 1000

/** The egress of one runtime: its sessions, its connections, and its present policy and secrets. */
export class AttachedRuntime implements RuntimeEgress {
  readonly #options: AttachOptions
  readonly #shared: SharedParts
  readonly #addresses: SyntheticAddresses
  readonly #resolver: Resolver
  readonly #rate = new RequestRate()
  readonly #sessions = new Set<ServerHttp2Session>()
  readonly #connections = new Map<Connection, { bytes: number; at: number }>()
  readonly #sweeper: NodeJS.Timeout
  #policy: EffectivePolicy
  #secrets: readonly AttachedSecret[]
  #ended: Traffic = { sent: 0, received: 0 }
  #limitLoggedAt = Number.NEGATIVE_INFINITY
  #isClosed = false

  constructor(options: AttachOptions, shared: SharedParts) {
    this.#options = options
    this.#shared = shared
    this.#policy = options.policy
    this.#secrets = options.secrets
    this.#addresses = new SyntheticAddresses(options.addresses ?? {})
    this.#resolver = new Resolver(shared.servers)
    this.#sweeper = setInterval(() => this.#sweep(), sweepMs).unref()
  }

  get traffic(): Traffic {
    return [...this.#connections.keys()].reduce((sum, { bytes }) => sumOf(sum, bytes), this.#ended)
  }

  get openConnections(): number {
    return this.#connections.size
  }

  accept(connection: Duplex): void {
    if (this.#isClosed || this.#sessions.size >= maxSessions) {
      connection.on('error', () => undefined)
      connection.destroy()
      return
    }
    const session = serveSession(connection, {
      onQuery: (stream, headers) => {
        if (!this.#admit(session, stream)) return
        serveQuery(stream, headers, this.#nameService(headers)).catch((error) => this.#onFault(error))
      },
      onConnect: (stream, headers) => {
        if (this.#admit(session, stream)) this.#connect(stream, headers)
      },
    })
    this.#sessions.add(session)
    session.once('close', () => this.#sessions.delete(session))
  }

  update(change: { readonly policy?: EffectivePolicy; readonly secrets?: readonly AttachedSecret[] }): void {
    this.#policy = change.policy ?? this.#policy
    this.#secrets = change.secrets ?? this.#secrets
    for (const connection of [...this.#connections.keys()]) connection.recheck()
  }

  test(target: TestTarget): Promise<TestedDecision> {
    const findIt = (found: Target) => this.#findUpstream(found)
    return testConnection(target, { policy: this.#policy, secrets: this.#secrets, findUpstream: findIt })
  }

  resetConnections(): void {
    for (const connection of [...this.#connections.keys()]) connection.cut(null)
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#sweeper)
    this.resetConnections()
    for (const session of this.#sessions) session.destroy()
    this.#resolver.close()
  }

  #connect(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    const process = readProcess(headers['x-holt-process'])
    const read = readConnect(headers, this.#addresses)
    if (read.type === 'refused') {
      const { reason, address, port } = read
      this.#log({ type: 'connect', name: null, address, port, allowed: false, rule: reason, process })
      refuseStream(stream, reason)
      return
    }
    const { target } = read
    const release = target.name === null ? () => undefined : this.#addresses.hold(target.name)
    const connection = new Connection({ stream, target, process, host: this.#host() })
    this.#connections.set(connection, { bytes: 0, at: performance.now() })
    connection
      .run()
      .finally(() => {
        this.#connections.delete(connection)
        this.#ended = sumOf(this.#ended, connection.bytes)
        release()
      })
      .catch((error) => this.#onFault(error))
  }

  /** Admits a request. Returns false if it exceeds a limit; it is then already refused. */
  #admit(session: ServerHttp2Session, stream: ServerHttp2Stream): boolean {
    if (this.#options.mayLeave?.() === false) {
      breakOff(stream, constants.NGHTTP2_REFUSED_STREAM)
      return false
    }
    const taken = this.#rate.takeStream()
    if (taken === 'ok' && this.#connections.size < maxStreams) return true
    const now = performance.now()
    if (now - this.#limitLoggedAt > limitLogMs) {
      this.#limitLoggedAt = now
      this.#log({
        type: 'connect',
        name: null,
        address: null,
        port: null,
        allowed: false,
        rule: 'limit',
        process: null,
      })
    }
    if (taken === 'flood') endFlood(session)
    else refuseStream(stream, 'limit')
    return false
  }

  #host(): ConnectionHost {
    const runtime = this
    return {
      get policy() {
        return runtime.#policy
      },
      get secrets() {
        return runtime.#secrets
      },
      ca: this.#options.ca,
      mayLeave: this.#options.mayLeave?.bind(this.#options),
      terminator: this.#shared.terminator,
      findUpstream: (target) => this.#findUpstream(target),
      pace: () => this.#rate.pace(),
      log: (decision) => this.#log(decision),
      onFault: (error) => this.#onFault(error),
    }
  }

  #nameService(headers: IncomingHttpHeaders): NameService {
    const process = readProcess(headers['x-holt-process'])
    return {
      policy: this.#policy,
      addresses: this.#addresses,
      lookup: (name: string) => this.#lookupForAnswer(name),
      log: (decision: Pick<Decision, 'name' | 'allowed' | 'rule'>) =>
        this.#log({ type: 'dns', address: null, port: null, process, ...decision }),
    }
  }

  /** Looks up a name. A name with an operator's override exists even if DNS does not know it. */
  async #lookupForAnswer(name: string): Promise<LookupResult> {
    const isOverridden = this.#shared.upstreamRules.overrides.some(({ host }) => host === name)
    return isOverridden ? { type: 'found', addresses: [] } : this.#resolver.lookup(name)
  }

  async #findUpstream(target: Target): Promise<Upstream> {
    const found = await findUpstream(target, this.#shared.upstreamRules, (name) => this.#resolver.lookup(name))
    return withoutDenied(this.#policy, found)
  }

  #sweep(): void {
    const now = performance.now()
    for (const [connection, seen] of this.#connections) {
      const bytes = totalOf(connection)
      if (bytes !== seen.bytes) this.#connections.set(connection, { bytes, at: now })
      else if (now - seen.at > (connection.isHalfClosed ? halfClosedIdleMs : idleMs)) connection.cut(null)
    }
  }

  #log(decision: Omit<Decision, 'at'>): void {
    this.#options.onDecision({ at: Date.now(), ...decision })
  }

  #onFault(error: unknown): void {
    this.#shared.log.error({ runtime: this.#options.id, err: error }, 'a connection of a runtime failed in the gateway')
  }
}

function sumOf(one: Traffic, other: Traffic): Traffic {
  return { sent: one.sent + other.sent, received: one.received + other.received }
}

function totalOf({ bytes }: Connection): number {
  return bytes.sent + bytes.received
}

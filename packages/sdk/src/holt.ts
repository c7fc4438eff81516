import type { Identity, Readiness } from '@holt/protocol'
import { Audit } from './audit.ts'
import { Builds } from './builds.ts'
import { findCredentials } from './credentials.ts'
import { HoltError } from './errors.ts'
import { Events } from './events.ts'
import { Keys } from './keys.ts'
import { Policies } from './policies.ts'
import { Projects } from './projects.ts'
import { Runtimes } from './runtimes.ts'
import { Secrets } from './secrets.ts'
import { Snapshots } from './snapshots.ts'
import { Templates } from './templates.ts'
import type { WebSocketClass } from './terminal/attach-socket.ts'
import { type CallOptions, type Retry, Transport } from './transport.ts'
import { Webhooks } from './webhooks.ts'

/** How a client reaches the service. */
export interface HoltOptions {
  /**
   * Default: HOLT_URL, else what `holt up` left in the state directory, else the loopback address.
   */
  readonly url?: string
  /** Default: HOLT_API_KEY, else what `holt up` left in the state directory. */
  readonly apiKey?: string
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch
  /** How often a request is sent again where that is safe. Default 4. */
  readonly maxRetries?: number
  /**
   * How long a request may take, in seconds. Default 120. Streams, transfers and waiting for a
   * command are not limited by it.
   */
  readonly timeoutSecs?: number
  /** How long a broken stream of output is tried to be resumed. Default 30 seconds. */
  readonly resumeTimeoutSecs?: number
  /**
   * What attachments to terminals are made with. Default: the global WebSocket, which browsers and
   * Node 22 have; for Node 20 the package ws has one.
   */
  readonly webSocket?: WebSocketClass
  /** Hears of each request that failed and is sent again, before the wait for that. */
  readonly onRetry?: (retry: Retry) => void
}

/** A create may take the service a minute, so less would give up on what still works. */
const defaultTimeoutSecs = 120
const defaultMaxRetries = 4
/** A service that is started again, and adopts its runtimes, is back by then. */
const defaultResumeTimeoutSecs = 30

/** The client of a Holt service. */
export class Holt {
  readonly url: string
  readonly runtimes: Runtimes
  readonly snapshots: Snapshots
  readonly templates: Templates
  readonly builds: Builds
  readonly keys: Keys
  readonly projects: Projects
  readonly policies: Policies
  readonly secrets: Secrets
  readonly events: Events
  readonly webhooks: Webhooks
  readonly audit: Audit
  readonly #transport: Transport

  constructor(options: HoltOptions = {}) {
    const { url, apiKey } = findCredentials({ url: options.url, apiKey: options.apiKey })
    if (!isAddress(url))
      throw new HoltError('invalid_request', `${url} is not an http address`, { hint: 'Correct url or HOLT_URL.' })
    this.url = url
    this.#transport = new Transport({
      url,
      apiKey,
      fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
      maxRetries: options.maxRetries ?? defaultMaxRetries,
      timeoutMs: (options.timeoutSecs ?? defaultTimeoutSecs) * 1000,
      resumeTimeoutMs: (options.resumeTimeoutSecs ?? defaultResumeTimeoutSecs) * 1000,
      webSocket: options.webSocket,
      onRetry: options.onRetry,
    })
    this.runtimes = new Runtimes(this.#transport)
    this.snapshots = new Snapshots(this.#transport)
    this.templates = new Templates(this.#transport)
    this.builds = new Builds(this.#transport)
    this.keys = new Keys(this.#transport)
    this.projects = new Projects(this.#transport)
    this.policies = new Policies(this.#transport)
    this.secrets = new Secrets(this.#transport)
    this.events = new Events(this.#transport)
    this.webhooks = new Webhooks(this.#transport)
    this.audit = new Audit(this.#transport)
  }

  /** Tells which key this client has, of which project, what that may have and what it has. */
  async whoami(options: CallOptions = {}): Promise<Identity> {
    return this.#transport.call('whoami', options)
  }

  /** Asks whether the service answers at all. */
  async health(options: CallOptions = {}): Promise<{ readonly status: 'ok' }> {
    return this.#transport.call('health', options)
  }

  /**
   * Asks whether runtimes can be made, and if not, why. Not being ready is an answer, not an error.
   */
  async ready(options: CallOptions = {}): Promise<Readiness> {
    return this.#transport.call('readiness', { ...options, accepted: [503] })
  }
}

function isAddress(url: string): boolean {
  return URL.canParse(url) && ['http:', 'https:'].includes(new URL(url).protocol)
}

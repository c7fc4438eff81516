import type { Identity, Readiness } from '@holt/protocol'
import { Audit } from './audit.ts'
import { Builds } from './builds.ts'
import { findCredentials } from './credentials.ts'
import { HoltError } from './errors/errors.ts'
import { Events } from './events.ts'
import { Hosts } from './hosts.ts'
import { Keys } from './keys.ts'
import { Policies } from './policies.ts'
import { Projects } from './projects.ts'
import { Runtimes } from './runtimes.ts'
import { Secrets } from './secrets.ts'
import { Snapshots } from './snapshots.ts'
import { Templates } from './templates.ts'
import { type CallOptions, type Retry, Transport } from './transport/transport.ts'
import type { WebSocketClass } from './transport/web-socket.ts'
import { Webhooks } from './webhooks.ts'

/** The options for reaching the service. */
export interface HoltOptions {
  /**
   * The address. Default: HOLT_URL, else the file that `holt up` writes in the state directory,
   * else the loopback address.
   */
  readonly url?: string
  /** The key. Default: HOLT_API_KEY, else the file that `holt up` writes in the state directory. */
  readonly apiKey?: string
  /** The fetch function. Default: the global one. */
  readonly fetch?: typeof globalThis.fetch
  /** The maximum number of retries of a request that is safe to repeat. Default 4. */
  readonly maxRetries?: number
  /**
   * The time limit of each try of a request, from its first byte to the end of its answer, in
   * seconds. Default 120. Streams, transfers, waiting for a command, and file operations on whole
   * trees have none. `fetch` of Node ends a request whose answer is silent for 300 s.
   */
  readonly timeoutSecs?: number
  /** The time for which a broken stream of output is retried, in seconds. Default 30. */
  readonly resumeTimeoutSecs?: number
  /**
   * The class for attachments to terminals. Default: the global WebSocket, which browsers and Node
   * 22 have. For Node 20 use the package ws.
   */
  readonly webSocket?: WebSocketClass
  /** Called for each failed request that is sent again, before the wait. */
  readonly onRetry?: (retry: Retry) => void
}

/** A create may take the service a minute, so a shorter limit would interrupt working requests. */
const defaultTimeoutSecs = 120
const defaultMaxRetries = 4
/** A service that restarts and adopts its runtimes is back within this time. */
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
  readonly hosts: Hosts
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
    this.hosts = new Hosts(this.#transport)
  }

  /** Returns the key of this client, its project, its quotas and their use. */
  async whoami(options: CallOptions = {}): Promise<Identity> {
    return this.#transport.call('whoami', options)
  }

  /** Returns normally if the service responds. */
  async health(options: CallOptions = {}): Promise<{ readonly status: 'ok' }> {
    return this.#transport.call('health', options)
  }

  /**
   * Returns the readiness: runtimes can be made, or the reason why they cannot. A service that is
   * not ready is a result, not an error.
   */
  async ready(options: CallOptions = {}): Promise<Readiness> {
    return this.#transport.call('readiness', { ...options, accepted: [503] })
  }

  /**
   * Returns the metrics of the service in the text format of Prometheus. Needs a key with the scope
   * `operator`.
   */
  async metrics(options: CallOptions = {}): Promise<string> {
    return (await this.#transport.open('metrics', options)).text()
  }
}

function isAddress(url: string): boolean {
  return URL.canParse(url) && ['http:', 'https:'].includes(new URL(url).protocol)
}

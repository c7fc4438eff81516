import type {
  NetworkLogItem,
  RuntimeNetwork,
  SetRuntimeNetworkInput,
  SuggestedPolicy,
  TestedNetwork,
  TestNetworkInput,
} from '@holt/protocol'
import { eventStream, resumeItems } from './item-stream.ts'
import type { CallOptions, Transport } from './transport.ts'

/** From where a network log is read, what of it, and whether to stay. */
export interface NetworkLogOptions extends CallOptions {
  /** Begin after the item with this cursor. Default: everything that is kept. */
  readonly cursor?: number
  /** Stay until the runtime has ended. Default false. */
  readonly follow?: boolean
  /** Only what was denied. */
  readonly denied?: boolean
  /** Only what was decided then or later, as an ISO 8601 timestamp with an offset. */
  readonly since?: string
}

/** The way out of one runtime. */
export class Network {
  readonly #transport: Transport
  readonly #runtimeId: string
  constructor(transport: Transport, runtimeId: string) {
    this.#transport = transport
    this.#runtimeId = runtimeId
  }

  /** What the runtime may reach now. */
  async get(options: CallOptions = {}): Promise<RuntimeNetwork> {
    return this.#transport.call('getNetwork', { ...options, params: this.#params })
  }

  /**
   * Replaces what the runtime may reach: a stored policy by name or id, one written out, or null
   * for nothing. When this answers it is in force, and connections that are no longer allowed are
   * cut.
   */
  async set(policy: SetRuntimeNetworkInput['network_policy'], options: CallOptions = {}): Promise<RuntimeNetwork> {
    return this.#transport.call('setNetwork', { ...options, params: this.#params, json: { network_policy: policy } })
  }

  /**
   * Asks whether a connection or a request would be let through, and by which rule. Nothing is sent
   * to the host.
   */
  async test(target: TestNetworkInput, options: CallOptions = {}): Promise<TestedNetwork> {
    return this.#transport.call('testNetwork', { ...options, params: this.#params, json: target })
  }

  /**
   * Yields what the runtime tried to reach and what was decided. A broken connection is made again
   * after the last item.
   */
  log(options: NetworkLogOptions = {}): AsyncGenerator<NetworkLogItem, void, undefined> {
    const { signal, cursor = 0, follow = false, denied = false, since } = options
    const open = (from: number) =>
      this.#transport.open('readNetworkLog', {
        signal,
        params: this.#params,
        query: { cursor: from, follow, denied, since },
        headers: { accept: eventStream },
      })
    const { resumeTimeoutMs } = this.#transport.options
    return resumeItems<NetworkLogItem>({ open, cursor, resumeTimeoutMs, signal })
  }

  /** The policy that the denied attempts would have needed. Read it before you set it. */
  async suggest(options: CallOptions = {}): Promise<SuggestedPolicy> {
    return this.#transport.call('suggestNetwork', { ...options, params: this.#params })
  }

  get #params() {
    return { runtime_id: this.#runtimeId }
  }
}

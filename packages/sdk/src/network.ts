import type {
  NetworkLogItem,
  RuntimeNetwork,
  SetRuntimeNetworkInput,
  SuggestedPolicy,
  TestedNetwork,
  TestNetworkInput,
} from '@holt/protocol'
import { eventStream, resumeItems } from './transport/item-stream.ts'
import type { CallOptions, ChangeOptions, Transport } from './transport/transport.ts'

/** The options for reading a network log. */
export interface NetworkLogOptions extends CallOptions {
  /** The cursor after which the items begin. Default: all kept items. */
  readonly cursor?: number
  /** True if reading continues until the runtime has ended. Default false. */
  readonly follow?: boolean
  /** True if only denied attempts are returned. */
  readonly denied?: boolean
  /** The time of the oldest decision, as an ISO 8601 timestamp with an offset. */
  readonly since?: string
}

/** The network access of one runtime. */
export class Network {
  readonly #transport: Transport
  readonly #runtimeId: string
  constructor(transport: Transport, runtimeId: string) {
    this.#transport = transport
    this.#runtimeId = runtimeId
  }

  /** Returns the present policy of the runtime. */
  async get(options: CallOptions = {}): Promise<RuntimeNetwork> {
    return this.#transport.call('getNetwork', { ...options, params: this.#params })
  }

  /**
   * Replaces the policy: a stored one by name or id, an inline one, or null for no network. When
   * this returns, the policy is in force, and connections that it does not allow are closed.
   */
  async set(policy: SetRuntimeNetworkInput['network_policy'], options: ChangeOptions = {}): Promise<RuntimeNetwork> {
    return this.#transport.call('setNetwork', { ...options, params: this.#params, json: { network_policy: policy } })
  }

  /**
   * Returns the decision on a connection or a request, with the rule. Nothing is sent to the host.
   */
  async test(target: TestNetworkInput, options: CallOptions = {}): Promise<TestedNetwork> {
    return this.#transport.call('testNetwork', { ...options, params: this.#params, json: target })
  }

  /**
   * Yields the attempts of the runtime with the decisions. After a broken connection it reconnects
   * and continues after the last item.
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

  /** Returns the policy that would allow the denied attempts. Review it before you set it. */
  async suggest(options: CallOptions = {}): Promise<SuggestedPolicy> {
    return this.#transport.call('suggestNetwork', { ...options, params: this.#params })
  }

  get #params() {
    return { runtime_id: this.#runtimeId }
  }
}

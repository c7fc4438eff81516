import type { CreatePolicyInput, Policy, PolicyPreset, ReplacePolicyInput } from '@holt/protocol'
import { type Paginated, paginate } from './transport/pages.ts'
import type { CallOptions, ChangeOptions, Transport } from './transport/transport.ts'

/** The stored network policies, by name. */
export class Policies {
  readonly #transport: Transport
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Stores a policy. Each call carries an Idempotency-Key, so a retry after a lost answer is safe.
   */
  async create(body: CreatePolicyInput, options: CallOptions = {}): Promise<Policy> {
    return this.#transport.call('createPolicy', { ...options, json: body, idempotencyKey: crypto.randomUUID() })
  }

  /** Lists policies, newest first. */
  list(options: CallOptions & { readonly limit?: number } = {}): Paginated<Policy> {
    const { limit, ...call } = options
    return paginate((cursor) => this.#transport.call('listPolicies', { ...call, query: { limit, cursor } }))
  }

  /** Gets a policy by id or name. */
  async get(policy: string, options: CallOptions = {}): Promise<Policy> {
    return this.#transport.call('getPolicy', { ...options, params: { policy_id: policy } })
  }

  /** Replaces a policy. When this returns, every runtime with this policy follows the new one. */
  async replace(policy: string, body: ReplacePolicyInput, options: ChangeOptions = {}): Promise<Policy> {
    return this.#transport.call('replacePolicy', { ...options, params: { policy_id: policy }, json: body })
  }

  /** Deletes a policy that no runtime uses. */
  async delete(policy: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.run('deletePolicy', { ...options, params: { policy_id: policy } })
  }

  /** Returns the presets that a policy may include, with their hosts. */
  async presets(options: CallOptions = {}): Promise<readonly PolicyPreset[]> {
    return (await this.#transport.call('listPresets', options)).data
  }
}

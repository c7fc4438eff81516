import type { CreateKeyInput, Key, NewKey } from '@holt/protocol'
import { type Paginated, paginate } from './pages.ts'
import type { CallOptions, Transport } from './transport.ts'

/** The keys that open the service. They need a key with the scope `admin`. */
export class Keys {
  readonly #transport: Transport
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Makes a key. Its secret is in this answer and nowhere else. */
  async create(body: CreateKeyInput, options: CallOptions = {}): Promise<NewKey> {
    return this.#transport.call('createKey', { ...options, json: body })
  }

  /** Lists keys, newest first, without their secrets. */
  list(options: CallOptions & { readonly limit?: number } = {}): Paginated<Key> {
    const { limit, ...call } = options
    return paginate((cursor) => this.#transport.call('listKeys', { ...call, query: { limit, cursor } }))
  }

  /** Revokes a key: it opens nothing any more. */
  async revoke(keyId: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.run('revokeKey', { ...options, params: { key_id: keyId } })
  }
}

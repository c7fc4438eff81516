import type { CreateKeyInput, Key, NewKey, RotateKeyInput } from '@holt/protocol'
import { type Paginated, paginate } from './transport/pages.ts'
import type { CallOptions, Transport } from './transport/transport.ts'

/**
 * The keys of the service. They need a key with the scope `admin`. Keys of another project also
 * need `operator`.
 */
export class Keys {
  readonly #transport: Transport
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Makes a key. Only this answer contains its secret. */
  async create(body: CreateKeyInput, options: CallOptions = {}): Promise<NewKey> {
    return this.#transport.call('createKey', { ...options, json: body, idempotencyKey: crypto.randomUUID() })
  }

  /** Lists keys, newest first, without their secrets. */
  list(options: CallOptions & { readonly limit?: number; readonly project?: string } = {}): Paginated<Key> {
    const { limit, project, ...call } = options
    return paginate((cursor) => this.#transport.call('listKeys', { ...call, query: { limit, cursor, project } }))
  }

  /** Gets a key by its id, without its secret. */
  async get(keyId: string, options: CallOptions = {}): Promise<Key> {
    return this.#transport.call('getKey', { ...options, params: { key_id: keyId } })
  }

  /**
   * Gives a key a new secret, which only this answer contains. The old secret works for
   * `overlap_secs` more (default an hour).
   */
  async rotate(keyId: string, body: RotateKeyInput = {}, options: CallOptions = {}): Promise<NewKey> {
    const idempotencyKey = crypto.randomUUID()
    return this.#transport.call('rotateKey', { ...options, params: { key_id: keyId }, json: body, idempotencyKey })
  }

  /** Revokes a key. */
  async revoke(keyId: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.run('revokeKey', { ...options, params: { key_id: keyId } })
  }
}

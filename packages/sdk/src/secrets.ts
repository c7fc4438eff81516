import type {
  CreateProviderInput,
  CreateSecretInput,
  Provider,
  ReplaceProviderInput,
  ReplaceSecretInput,
  Secret,
} from '@holt/protocol'
import { HoltError } from './errors/errors.ts'
import { type Paginated, paginate } from './transport/pages.ts'
import type { CallOptions, ChangeOptions, Transport } from './transport/transport.ts'

/**
 * The secrets. No call returns a value. Runtimes have placeholders, and the gateway inserts the
 * values.
 */
export class Secrets {
  readonly #transport: Transport
  /** The sources of values that are not stored with the secret. */
  readonly providers: Providers
  constructor(transport: Transport) {
    this.#transport = transport
    this.providers = new Providers(transport)
  }

  /** Stores a secret. A secret named `anthropic`, `openai` or `google` needs only its value. */
  async create(body: CreateSecretInput, options: CallOptions = {}): Promise<Secret> {
    return this.#transport.call('createSecret', { ...options, json: body, idempotencyKey: crypto.randomUUID() })
  }

  /**
   * Stores a secret, or gives the one of that name a new version. The placement inside runtimes,
   * and the variable, cannot change.
   */
  async set(body: CreateSecretInput, options: CallOptions = {}): Promise<Secret> {
    const { name, ...version } = body
    try {
      return await this.replace(name, version, options)
    } catch (error) {
      if (error instanceof HoltError && error.code === 'secret_not_found') return this.create(body, options)
      throw error
    }
  }

  /** Lists secrets, newest first, without their values. */
  list(options: CallOptions & { readonly limit?: number } = {}): Paginated<Secret> {
    const { limit, ...call } = options
    return paginate((cursor) => this.#transport.call('listSecrets', { ...call, query: { limit, cursor } }))
  }

  /** Gets a secret by id or name, without its value. */
  async get(secret: string, options: CallOptions = {}): Promise<Secret> {
    return this.#transport.call('getSecret', { ...options, params: { secret_id: secret } })
  }

  /**
   * Gives a secret a new version. An absent field stays. Every runtime with the secret follows at
   * once.
   */
  async replace(secret: string, body: ReplaceSecretInput, options: ChangeOptions = {}): Promise<Secret> {
    return this.#transport.call('replaceSecret', { ...options, params: { secret_id: secret }, json: body })
  }

  /**
   * Deletes a secret, even while runtimes use it. From then on, requests with its placeholder are
   * refused.
   */
  async delete(secret: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.run('deleteSecret', { ...options, params: { secret_id: secret } })
  }

  /**
   * Encrypts all secret data again under a new key, and returns the number of values. Needs the
   * scope `admin`.
   */
  async rotateKey(options: CallOptions = {}): Promise<number> {
    return (await this.#transport.call('rotateSecretKey', options)).resealed
  }
}

/**
 * The identity providers: one value for several secrets, OAuth access tokens, or tokens that the
 * service signs itself.
 */
export class Providers {
  readonly #transport: Transport
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Stores a provider. */
  async create(body: CreateProviderInput, options: CallOptions = {}): Promise<Provider> {
    return this.#transport.call('createProvider', { ...options, json: body, idempotencyKey: crypto.randomUUID() })
  }

  /** Lists providers, newest first, without their secrets. */
  list(options: CallOptions & { readonly limit?: number } = {}): Paginated<Provider> {
    const { limit, ...call } = options
    return paginate((cursor) => this.#transport.call('listProviders', { ...call, query: { limit, cursor } }))
  }

  /** Gets a provider by id or name. */
  async get(provider: string, options: CallOptions = {}): Promise<Provider> {
    return this.#transport.call('getProvider', { ...options, params: { provider_id: provider } })
  }

  /** Replaces a provider's settings. The name and the type stay. */
  async replace(provider: string, body: ReplaceProviderInput, options: ChangeOptions = {}): Promise<Provider> {
    return this.#transport.call('replaceProvider', { ...options, params: { provider_id: provider }, json: body })
  }

  /** Deletes a provider that no secret uses. */
  async delete(provider: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.run('deleteProvider', { ...options, params: { provider_id: provider } })
  }
}

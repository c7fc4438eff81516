import type { Descriptor } from '../image/oci-schemas.ts'
import type { Login } from './credentials.ts'
import type { Wire } from './exchange.ts'
import { endpointsOf, type ImageAddress } from './image-address.ts'
import type { ManifestBytes } from './manifest.ts'
import type { RegistrySettings } from './registry-contract.ts'
import { Repository } from './repository.ts'
import { TransferError } from './transfer-error.ts'

/** The servers that may have an image. If one of them fails, the next one is asked. */
export class ImageSource {
  readonly #repositories: Repository[]

  constructor(address: ImageAddress, options: { wire: Wire; settings: RegistrySettings; login: Login | null }) {
    const { wire, settings } = options
    // An overloaded mirror gets fewer attempts, because other servers remain.
    const hurried = { ...wire, retryPolicy: { ...wire.retryPolicy, attempts: Math.min(2, wire.retryPolicy.attempts) } }
    this.#repositories = endpointsOf(address, settings).map(
      (endpoint) => new Repository(endpoint, { ...options, wire: endpoint.isMirror ? hurried : wire }),
    )
  }

  /** Returns the digest that a tag names now. */
  resolve(wanted: string, signal: AbortSignal): Promise<string> {
    return this.#first((repository) => repository.resolve(wanted, signal))
  }

  /** Returns a manifest by tag or digest. */
  manifest(wanted: string, signal: AbortSignal): Promise<ManifestBytes> {
    return this.#first((repository) => repository.manifest(wanted, signal))
  }

  /**
   * Yields the bytes of a blob from the first server that begins to send it. A server that stops
   * early is not asked again.
   */
  async *blob(descriptor: Descriptor, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    for (const repository of [...this.#repositories]) {
      let hasBegun = false
      try {
        for await (const chunk of repository.blob(descriptor, signal)) {
          hasBegun = true
          yield chunk
        }
        return
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof TransferError) || this.#isLast(repository)) throw error
        if (!hasBegun) continue
        this.#drop(repository)
        throw error
      }
    }
  }

  /** The number of servers that remain. */
  get serversLeft(): number {
    return this.#repositories.length
  }

  async #first<Result>(ask: (repository: Repository) => Promise<Result>): Promise<Result> {
    for (const repository of [...this.#repositories]) {
      try {
        return await ask(repository)
      } catch (error) {
        // The error of the registry itself counts.
        if (!(error instanceof TransferError) || this.#isLast(repository)) throw error
      }
    }
    throw new TransferError('unreachable', 'No registry or mirror is left to ask.')
  }

  #isLast(repository: Repository): boolean {
    return this.#repositories.at(-1) === repository
  }

  #drop(repository: Repository): void {
    const at = this.#repositories.indexOf(repository)
    // Another blob of the same server may have failed before.
    if (at !== -1) this.#repositories.splice(at, 1)
  }
}

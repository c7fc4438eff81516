import type { GuestNetwork, SeedRequest } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import type { FakeAnswer } from './fake-answer.ts'
import type { FakeDefaults } from './fake-processes.ts'

/** The part of `bind` that a fake guest keeps. */
interface Bound {
  readonly runtime_id: string
  readonly env: Record<string, string>
  readonly user: string
  readonly workdir: string
}

/** The identity and the network of a fake guest. */
export class FakeIdentity {
  #bound: Bound | null = null
  #seeded: Pick<SeedRequest, 'env' | 'user' | 'workdir'> | null = null
  #network: GuestNetwork | null = null

  /** Returns a copy, as a checkpoint has it. */
  copy(): FakeIdentity {
    const copy = new FakeIdentity()
    copy.#bound = this.#bound
    copy.#seeded = this.#seeded
    copy.#network = this.#network
    return copy
  }

  /** The identity from `bind`, or null. */
  get bound(): Bound | null {
    return this.#bound
  }

  /** The network from `bind`, `seed` or the last `PUT /v1/network`. */
  get network(): GuestNetwork | null {
    return this.#network
  }

  /** True if commands may run. */
  get isReady(): boolean {
    return this.#bound !== null || this.#seeded !== null
  }

  /** The settings of processes. */
  get defaults(): FakeDefaults {
    return this.#bound ?? { env: {}, user: 'root', workdir: '/', ...this.#seeded }
  }

  bind(request: Bound & { readonly renew?: boolean; readonly network?: GuestNetwork | null }): FakeAnswer {
    const renew = request.renew === true
    if (!renew && this.#bound !== null && this.#bound.runtime_id !== request.runtime_id)
      throw new HoltError('conflict', 'bound to another runtime')
    if (renew || this.#bound === null) {
      this.#network = request.network ?? null
      this.#bound = request
    }
    return { json: { runtime_id: request.runtime_id, network: this.#network !== null } }
  }

  seed(request: SeedRequest): FakeAnswer {
    if (this.#bound !== null) throw new HoltError('conflict', 'the runtime is bound')
    this.#seeded = request
    this.#network = request.network
    return { json: { limits: { pids: request.pids_max !== null }, network: request.network !== null, problems: [] } }
  }

  setNetwork({ network }: { readonly network: GuestNetwork | null }): FakeAnswer {
    this.#network = network
    return { json: { network: network !== null, problems: [] } }
  }
}

import type { PortDomain } from '../../foundation/config/config.ts'

/** The URLs of ports. The service knows its own URL only after it listens. */
export class PortAddresses {
  readonly #domain: PortDomain
  #service = 'http://localhost'

  constructor(domain: PortDomain) {
    this.#domain = domain
  }

  /** Sets the address on which the service listens. */
  listensAt(url: string): void {
    this.#service = url
  }

  /** The address on which the service listens. */
  get service(): string {
    return this.#service
  }

  /**
   * Returns the two addresses of a port: its own origin, and the path below the service's address.
   */
  of(runtimeId: string, port: number): { readonly url: string; readonly path_url: string } {
    const { name, front } = this.#domain
    const { scheme, port: entrance } = front ?? { scheme: 'http', port: Number(new URL(this.#service).port) }
    const at = entrance === null ? '' : `:${entrance}`
    return {
      url: `${scheme}://${port}-${runtimeId}.${name}${at}/`,
      path_url: `${this.#service}/v1/agents/runtime/${runtimeId}/ports/${port}/proxy/`,
    }
  }
}

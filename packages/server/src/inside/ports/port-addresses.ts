import type { PortDomain } from '../../foundation/config/config.ts'

/** The addresses of ports. The service knows its own address once it listens. */
export class PortAddresses {
  readonly #domain: PortDomain
  #service = 'http://localhost'

  constructor(domain: PortDomain) {
    this.#domain = domain
  }

  /** Tells where the service listens. */
  listensAt(url: string): void {
    this.#service = url
  }

  /** The two addresses of a port: an origin of its own, and below the service's. */
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

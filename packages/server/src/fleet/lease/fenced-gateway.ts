import type { AttachOptions, RuntimeEgress } from '@holt/egress'
import type { ThisHost } from '../../foundation/host/this-host.ts'
import type { EgressGateway } from '../../resources/network/runtime-networks.ts'

/** A gateway through which nothing leaves while its host is fenced. */
export class FencedGateway implements EgressGateway {
  readonly #gateway: EgressGateway
  readonly #host: ThisHost
  readonly #attached = new Set<RuntimeEgress>()

  constructor(gateway: EgressGateway, host: ThisHost) {
    this.#gateway = gateway
    this.#host = host
  }

  attach(options: AttachOptions): RuntimeEgress {
    const egress = this.#gateway.attach({ ...options, mayLeave: () => !this.#host.fenced })
    this.#attached.add(egress)
    const close = egress.close.bind(egress)
    egress.close = () => {
      this.#attached.delete(egress)
      close()
    }
    return egress
  }

  /** Resets every connection out of every runtime and build. They can connect again afterwards. */
  resetConnections(): void {
    for (const egress of this.#attached) egress.resetConnections()
  }
}

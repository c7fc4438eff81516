import type { Host } from '@holt/protocol'
import { type Paginated, paginate } from './transport/pages.ts'
import type { CallOptions, Transport } from './transport/transport.ts'

/** The machines that run runtimes. They need a key with the scope `operator`. */
export class Hosts {
  readonly #transport: Transport
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Lists the hosts with their capacity, isolation classes, pools and checks. An installation has
   * one. The checks are at most a minute old.
   */
  list(options: CallOptions = {}): Paginated<Host> {
    return paginate(() => this.#transport.call('listHosts', options))
  }
}

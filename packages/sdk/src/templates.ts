import type { Template } from '@holt/protocol'
import { type Paginated, paginate } from './pages.ts'
import type { CallOptions, Transport } from './transport.ts'

/** The images that runtimes are made from. */
export class Templates {
  readonly #transport: Transport
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Lists templates. */
  list(options: CallOptions & { readonly limit?: number } = {}): Paginated<Template> {
    const { limit, ...call } = options
    return paginate((cursor) => this.#transport.call('listTemplates', { ...call, query: { limit, cursor } }))
  }

  /** Gets a template by id or name. */
  async get(template: string, options: CallOptions = {}): Promise<Template> {
    return this.#transport.call('getTemplate', { ...options, params: { template_id: template } })
  }
}

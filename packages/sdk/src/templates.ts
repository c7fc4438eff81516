import type { CheckDockerfileInput, DockerfileCheck, Template } from '@holt/protocol'
import { type Paginated, paginate } from './pages.ts'
import type { CallOptions, Transport } from './transport.ts'

/** Which templates a list has. */
export interface TemplateFilter {
  readonly name?: string
  readonly kind?: Template['kind']
  readonly state?: Template['state']
  /** Items per page, 1 to 100. */
  readonly limit?: number
}

/**
 * The images that runtimes are made from. `Template()` describes one of your own, `holt.builds` has
 * the builds.
 */
export class Templates {
  readonly #transport: Transport
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Lists templates. Several filters mean AND. */
  list(options: CallOptions & TemplateFilter = {}): Paginated<Template> {
    const { signal, ...filter } = options
    return paginate((cursor) => this.#transport.call('listTemplates', { signal, query: { ...filter, cursor } }))
  }

  /** Gets a template by id, `name` or `name:tag`. */
  async get(template: string, options: CallOptions = {}): Promise<Template> {
    return this.#transport.call('getTemplate', { ...options, params: { template_id: template } })
  }

  /** Deletes a template by id, `name` or `name:tag`. Runtimes that were made from it go on. */
  async delete(template: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.run('deleteTemplate', { ...options, params: { template_id: template } })
  }

  /**
   * Says of each line of a Dockerfile whether a build follows it, leaves it out or refuses it.
   * Nothing is built.
   */
  async check(dockerfile: CheckDockerfileInput, options: CallOptions = {}): Promise<DockerfileCheck> {
    return this.#transport.call('checkDockerfile', { ...options, json: dockerfile })
  }
}

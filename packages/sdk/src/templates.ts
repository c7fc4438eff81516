import type { CheckDockerfileInput, DockerfileCheck, Template } from '@holt/protocol'
import { type Paginated, paginate } from './transport/pages.ts'
import type { CallOptions, Transport } from './transport/transport.ts'

/** The filters of a list of templates. */
export interface TemplateFilter {
  readonly name?: string
  readonly kind?: Template['kind']
  readonly state?: Template['state']
  /** Items per page, 1 to 100. */
  readonly limit?: number
}

/**
 * The images from which runtimes are made. `Template()` describes a new one, and `holt.builds` has
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

  /** Deletes a template by id, `name` or `name:tag`. Runtimes made from it continue. */
  async delete(template: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.run('deleteTemplate', { ...options, params: { template_id: template } })
  }

  /**
   * Returns for each line of a Dockerfile if a build follows it, ignores it or refuses it. Builds
   * nothing.
   */
  async check(dockerfile: CheckDockerfileInput, options: CallOptions = {}): Promise<DockerfileCheck> {
    return this.#transport.call('checkDockerfile', { ...options, json: dockerfile })
  }
}

import type { CreateProjectInput, Project, UpdateProjectInput } from '@holt/protocol'
import { type Paginated, paginate } from './transport/pages.ts'
import type { CallOptions, Transport } from './transport/transport.ts'

/**
 * The projects of an installation, which own all other things. They need a key with the scope
 * `operator`.
 */
export class Projects {
  readonly #transport: Transport
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Makes a project. `keys.create` with `project` makes its first key. */
  async create(body: CreateProjectInput, options: CallOptions = {}): Promise<Project> {
    return this.#transport.call('createProject', { ...options, json: body, idempotencyKey: crypto.randomUUID() })
  }

  /** Lists projects, newest first, with their quotas and use. */
  list(options: CallOptions & { readonly limit?: number } = {}): Paginated<Project> {
    const { limit, ...call } = options
    return paginate((cursor) => this.#transport.call('listProjects', { ...call, query: { limit, cursor } }))
  }

  /** Gets a project by id or name. */
  async get(project: string, options: CallOptions = {}): Promise<Project> {
    return this.#transport.call('getProject', { ...options, params: { project_id: project } })
  }

  /** Changes a project's name or quotas. An absent field stays. */
  async update(project: string, body: UpdateProjectInput, options: CallOptions = {}): Promise<Project> {
    return this.#transport.call('updateProject', {
      ...options,
      params: { project_id: project },
      json: body,
      twiceIsOnce: true,
    })
  }

  /** Deletes an empty project and its keys. */
  async delete(project: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.run('deleteProject', { ...options, params: { project_id: project } })
  }
}

import type { Build, BuildStarted, CreateBuildInput } from '@holt/protocol'
import { withLocalErrors } from './errors/local-error.ts'
import { type BuildHandle, makeBuildHandle } from './template/build-handle.ts'
import type { ContextFile, UploadFilesOptions } from './template/context-files.ts'
import type { UploadContextOptions, UploadedContext } from './template/context-upload.ts'
import { type Paginated, paginate } from './transport/pages.ts'
import type { CallOptions, Transport } from './transport/transport.ts'

/** The filters of a list of builds. */
export interface BuildFilter {
  /** The name of the template. */
  readonly name?: string
  /** The id of the template. */
  readonly template_id?: string
  /** Items per page, 1 to 100. */
  readonly limit?: number
}

/** The builds of templates. `Template()` writes their bodies. */
export class Builds {
  readonly #transport: Transport
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Starts a build and returns at once. `wait` of the result waits for its end. Each call carries
   * an Idempotency-Key, so a retry after a lost answer starts no second build.
   */
  async create(
    body: CreateBuildInput,
    options: CallOptions & { readonly idempotencyKey?: string } = {},
  ): Promise<BuildHandle> {
    const { signal, idempotencyKey = crypto.randomUUID() } = options
    return this.#handleOf(await this.#transport.call('createBuild', { signal, json: body, idempotencyKey }), { signal })
  }

  /** Lists builds, newest first. */
  list(filter: BuildFilter = {}, options: CallOptions = {}): Paginated<BuildHandle> {
    return paginate(async (cursor) => {
      const query = { ...filter, cursor }
      const page = await this.#transport.call('listBuilds', { ...options, query })
      return {
        data: page.data.map((data: Build) => makeBuildHandle(this.#transport, data)),
        next_cursor: page.next_cursor,
      }
    })
  }

  /** Gets a build by its id. */
  async get(buildId: string, options: CallOptions = {}): Promise<BuildHandle> {
    const data = await this.#transport.call('getBuild', { ...options, params: { build_id: buildId } })
    return makeBuildHandle(this.#transport, data)
  }

  /** Builds an agent template from the service's own Dockerfile. */
  async pull(template: string, options: CallOptions & { readonly no_cache?: boolean } = {}): Promise<BuildHandle> {
    const { signal, no_cache = false } = options
    const started = await this.#transport.call('pullTemplate', {
      signal,
      params: { template_id: template },
      json: { no_cache },
      idempotencyKey: crypto.randomUUID(),
    })
    return this.#handleOf(started, { signal })
  }

  /**
   * Sends a directory of this machine as the context that COPY and ADD read, for `context_id`.
   * Leaves out the paths that its .dockerignore excludes.
   */
  async uploadContext(directory: string, options: UploadContextOptions = {}): Promise<UploadedContext> {
    const { uploadContext } = await import('./template/context-upload.ts')
    return withLocalErrors(() => uploadContext(this.#transport, directory, options))
  }

  /**
   * Sends files of memory, or those that a person chose in a browser, as the context that COPY and
   * ADD read, for `context_id`. Leaves out the files that their .dockerignore excludes.
   */
  async uploadFiles(files: readonly ContextFile[], options: UploadFilesOptions = {}): Promise<UploadedContext> {
    const { uploadFiles } = await import('./template/context-files.ts')
    return uploadFiles(this.#transport, files, options)
  }

  /** Returns the files that `uploadFiles` would send, after the rules of their .dockerignore. */
  async includedFiles(
    files: readonly ContextFile[],
    { dockerfile }: Pick<UploadFilesOptions, 'dockerfile'> = {},
  ): Promise<readonly ContextFile[]> {
    const { includedFiles } = await import('./template/context-files.ts')
    return includedFiles(files, dockerfile)
  }

  async #handleOf({ build_id }: BuildStarted, options: CallOptions): Promise<BuildHandle> {
    return this.get(build_id, options)
  }
}

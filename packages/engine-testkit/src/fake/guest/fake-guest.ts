import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { HoltError } from '@holt/protocol'
import { EngineError, type GuestLink, type GuestRequest, type GuestResponse } from '@holt/engine'
import type { GuestNetwork, SeedRequest } from '@holt/guest-client'
import { FakeChanges } from './fake-changes.ts'
import { FakeFiles } from './fake-files.ts'
import { FakeOperations } from './fake-operations.ts'
import { FakePorts } from './fake-ports.ts'
import { FakeProcesses } from './fake-processes.ts'
import { FakeTrees } from './fake-trees.ts'

/** An answer of a fake route: JSON, or a stream. */
export type FakeAnswer = {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly json?: unknown
  readonly stream?: Readable
}

interface Route {
  readonly method: string
  readonly pattern: RegExp
  readonly handle: (
    match: RegExpExecArray,
    query: URLSearchParams,
    body: Buffer,
    request: GuestRequest,
  ) => FakeAnswer | Promise<FakeAnswer>
}

/**
 * A guest in memory that speaks guest/PROTOCOL.md. Its processes come from a small table of
 * programs, and its files are a tree of nodes. It is a `GuestLink` itself, without a socket
 * between.
 */
export class FakeGuest implements GuestLink {
  readonly files: FakeFiles
  readonly trees: FakeTrees
  readonly processes: FakeProcesses
  readonly ports: FakePorts
  readonly changes: FakeChanges
  readonly #operations: FakeOperations
  #bound: {
    readonly runtime_id: string
    readonly env: Record<string, string>
    readonly user: string
    readonly workdir: string
  } | null = null
  #seeded: Pick<SeedRequest, 'env' | 'user' | 'workdir'> | null = null
  #network: GuestNetwork | null = null
  #stopped = false
  /** A promise that resolves when the guest is thawed; null while it runs. */
  #frozen: PromiseWithResolvers<void> | null = null
  readonly #answers = new Set<Readable>()

  constructor(copied?: FakeGuest) {
    this.files = copied?.files.copy() ?? new FakeFiles()
    this.trees = copied?.trees.copy(this.files) ?? new FakeTrees(this.files)
    this.processes = copied?.processes.copy() ?? new FakeProcesses()
    this.ports = copied?.ports.copy() ?? new FakePorts()
    this.changes = copied?.changes.copy() ?? new FakeChanges()
    this.#operations = copied === undefined ? new FakeOperations() : copied.#operations.copy()
    if (copied === undefined) return
    this.#bound = copied.#bound
    this.#seeded = copied.#seeded
    this.#network = copied.#network
  }

  get connected(): boolean {
    return !this.#stopped
  }

  /** The identity from `bind`, or null. */
  get identity() {
    return this.#bound
  }

  /** The network from `bind` or the last `PUT /v1/network`. */
  get network(): GuestNetwork | null {
    return this.#network
  }

  /**
   * Returns the part of it that a checkpoint has: processes, files and identity. The copy does not
   * run until `resume`.
   */
  copy(): FakeGuest {
    return new FakeGuest(this)
  }

  /** Starts a copy. */
  resume(): void {
    this.processes.resume()
  }

  /** Freezes the guest. Requests wait. */
  freeze(): void {
    this.#frozen ??= Promise.withResolvers()
    this.processes.pause()
  }

  /** Ends what `freeze` began. */
  thaw(): void {
    this.#frozen?.resolve()
    this.#frozen = null
    this.processes.resume()
  }

  /**
   * Breaks the connection. Every unfinished answer ends as `unavailable`. The next request finds a
   * new connection.
   */
  disconnect(): void {
    for (const answer of this.#answers)
      answer.destroy(new EngineError('unavailable', 'the connection to the guest broke'))
  }

  /** Ends the guest and all that it runs. */
  stop(): void {
    this.#stopped = true
    this.#frozen?.resolve()
    this.processes.stop()
    this.ports.stop()
    this.changes.stop()
  }

  async request(request: GuestRequest): Promise<GuestResponse> {
    request.signal.throwIfAborted()
    await this.#whenThawed(request.signal)
    if (this.#stopped) throw new EngineError('unavailable', 'the guest is not connected')
    try {
      const response = respond(await this.#operations.once(request, () => this.#route(request)))
      response.body.on('error', () => {
        // The reader receives the error. An abandoned body may have no reader yet.
      })
      this.#answers.add(response.body)
      response.body.once('close', () => this.#answers.delete(response.body))
      request.signal.addEventListener('abort', () => response.body.destroy(new EngineError('unavailable', 'given up')))
      return response
    } catch (error) {
      if (error instanceof HoltError) return failure(error)
      throw error
    }
  }

  #whenThawed(signal: AbortSignal): Promise<void> {
    if (this.#frozen === null) return Promise.resolve()
    const { promise } = this.#frozen
    return new Promise((resolve, reject) => {
      const abort = () => reject(signal.reason)
      signal.addEventListener('abort', abort, { once: true })
      promise.then(() => {
        signal.removeEventListener('abort', abort)
        resolve()
      }, reject)
    })
  }

  async #route(request: GuestRequest): Promise<FakeAnswer> {
    const url = new URL(request.path, 'http://guest')
    const connect = /^\/v1\/ports\/(\d+)\/connect$/.exec(url.pathname)
    if (connect !== null && this.#bound !== null) return this.ports.connect(Number(connect[1]), request)
    const body =
      request.body === undefined
        ? Buffer.alloc(0)
        : request.body instanceof Readable
          ? await buffer(request.body)
          : Buffer.from(request.body)
    const always = /^\/v1\/(info|usage|bind|seed|quiesce)$/.test(url.pathname)
    if (!always && this.#bound === null && this.#seeded === null) throw new HoltError('conflict', 'not bound yet')
    for (const { method, pattern, handle } of this.#routes) {
      const match = method === request.method ? pattern.exec(url.pathname) : null
      if (match !== null) return handle(match, url.searchParams, body, request)
    }
    throw new HoltError('invalid_request', `no route ${request.method} ${url.pathname}`)
  }

  readonly #routes: readonly Route[] = [
    { method: 'GET', pattern: /^\/v1\/info$/, handle: () => ({ json: this.#info() }) },
    {
      method: 'GET',
      pattern: /^\/v1\/usage$/,
      handle: () => ({ json: { processes: 1 + this.processes.size } }),
    },
    { method: 'POST', pattern: /^\/v1\/bind$/, handle: (_, __, body) => this.#bind(JSON.parse(body.toString())) },
    { method: 'POST', pattern: /^\/v1\/seed$/, handle: (_, __, body) => this.#seed(JSON.parse(body.toString())) },
    {
      method: 'PUT',
      pattern: /^\/v1\/network$/,
      handle: (_, __, body) => this.#setNetwork(JSON.parse(body.toString())),
    },
    { method: 'POST', pattern: /^\/v1\/quiesce$/, handle: (_, query) => this.#quiesce(query) },
    {
      method: 'POST',
      pattern: /^\/v1\/processes$/,
      handle: (_, query, body) =>
        this.processes.start(JSON.parse(body.toString()), this.#defaults(), query.get('follow') === '1'),
    },
    { method: 'GET', pattern: /^\/v1\/processes$/, handle: () => this.processes.list() },
    { method: 'GET', pattern: /^\/v1\/processes\/(\w+)$/, handle: ([, id]) => this.processes.get(id ?? '') },
    {
      method: 'GET',
      pattern: /^\/v1\/processes\/(\w+)\/output$/,
      handle: ([, id], query) => this.processes.output(id ?? '', query),
    },
    {
      method: 'POST',
      pattern: /^\/v1\/processes\/(\w+)\/stdin$/,
      handle: ([, id], query, body) => this.processes.stdin(id ?? '', query, body),
    },
    {
      method: 'POST',
      pattern: /^\/v1\/processes\/(\w+)\/signal$/,
      handle: ([, id], _, body) => this.processes.signal(id ?? '', JSON.parse(body.toString()).signal),
    },
    {
      method: 'POST',
      pattern: /^\/v1\/processes\/(\w+)\/resize$/,
      handle: ([, id], _, body) => this.processes.resize(id ?? '', JSON.parse(body.toString())),
    },
    { method: 'DELETE', pattern: /^\/v1\/processes\/(\w+)$/, handle: ([, id]) => this.processes.kill(id ?? '') },
    { method: 'GET', pattern: /^\/v1\/sessions$/, handle: () => this.processes.listSessions() },
    {
      method: 'DELETE',
      pattern: /^\/v1\/sessions\/([\w.-]+)$/,
      handle: ([, name]) => this.processes.endSession(name ?? ''),
    },
    { method: 'GET', pattern: /^\/v1\/files\/stat$/, handle: (_, query) => this.files.stat(query) },
    { method: 'GET', pattern: /^\/v1\/files\/list$/, handle: (_, query) => this.files.list(query) },
    {
      method: 'GET',
      pattern: /^\/v1\/files\/content$/,
      handle: (_, query, __, request) => this.files.read(query, request.headers),
    },
    { method: 'GET', pattern: /^\/v1\/files\/upload$/, handle: (_, query) => this.files.upload(query) },
    { method: 'DELETE', pattern: /^\/v1\/files\/upload$/, handle: (_, query) => this.files.abortUpload(query) },
    { method: 'PUT', pattern: /^\/v1\/files\/content$/, handle: (_, query, body) => this.#write(query, body) },
    { method: 'GET', pattern: /^\/v1\/ports$/, handle: () => this.ports.list() },
    {
      method: 'GET',
      pattern: /^\/v1\/ports\/(\d+)$/,
      handle: ([, port], query, _, { signal }) =>
        this.ports.wait(Number(port), Number(query.get('wait_ms') ?? 0), signal),
    },
    {
      method: 'POST',
      pattern: /^\/v1\/files\/(mkdir|remove|move|copy|symlink|chmod|chown|search|replace)$/,
      handle: ([, verb], _, body) => this.#change(verb ?? '', JSON.parse(body.toString())),
    },
    { method: 'GET', pattern: /^\/v1\/files\/archive$/, handle: (_, query) => this.files.archive(query) },
    { method: 'PUT', pattern: /^\/v1\/files\/archive$/, handle: (_, query, body) => this.files.extract(query, body) },
    {
      method: 'POST',
      pattern: /^\/v1\/export$/,
      handle: (_, __, body) => this.trees.exportTree(JSON.parse(body.toString())),
    },
    {
      method: 'POST',
      pattern: /^\/v1\/select$/,
      handle: (_, __, body) => this.trees.select(JSON.parse(body.toString())),
    },
    { method: 'PUT', pattern: /^\/v1\/apply$/, handle: (_, query, body) => this.trees.apply(query, body) },
    {
      method: 'POST',
      pattern: /^\/v1\/mounts$/,
      handle: (_, __, body) => this.trees.addMounts(JSON.parse(body.toString())),
    },
    { method: 'DELETE', pattern: /^\/v1\/mounts$/, handle: () => this.trees.clearMounts() },
    { method: 'GET', pattern: /^\/v1\/files\/watch$/, handle: (_, query) => this.#watch(query) },
  ]

  #write(query: URLSearchParams, body: Buffer): FakeAnswer {
    const answer = this.files.write(query, body)
    if (answer.status === 202) return answer // A part; nothing is there yet.
    const type = answer.status === 201 ? 'created' : 'modified'
    this.changes.add({ type, path: query.get('path') ?? '', directory: false })
    return answer
  }

  #change(verb: string, request: Record<string, unknown>): FakeAnswer {
    const answer = this.files.change(verb, request)
    if (!['mkdir', 'remove', 'move', 'copy'].includes(verb)) return answer
    const { path, source: from, destination } = request as { path: string; source: string; destination: string }
    const directory = (answer.json as { type?: string }).type === 'directory'
    if (verb === 'remove') this.changes.add({ type: 'removed', path, directory })
    else if (verb === 'move') this.changes.add({ type: 'moved', path: destination, from, directory })
    else if (verb === 'copy') this.changes.add({ type: 'created', path: destination, directory })
    else if (answer.status === 201) this.changes.add({ type: 'created', path, directory })
    return answer
  }

  #watch(query: URLSearchParams): FakeAnswer {
    const { type } = this.files.stat(new URLSearchParams({ path: query.get('path') ?? '' })).json as { type: string }
    if (type !== 'directory') throw new HoltError('not_a_directory', `${query.get('path')} is not a directory`)
    return this.changes.watch(query)
  }

  #info() {
    const { size, foreground } = this.processes
    return { version: 'fake', protocol: 1, runtime_id: this.#bound?.runtime_id ?? null, processes: size, foreground }
  }

  #bind(request: {
    runtime_id: string
    env: Record<string, string>
    user: string
    workdir: string
    renew?: boolean
    network?: GuestNetwork | null
  }): FakeAnswer {
    const renew = request.renew === true
    if (!renew && this.#bound !== null && this.#bound.runtime_id !== request.runtime_id)
      throw new HoltError('conflict', 'bound to another runtime')
    if (this.#bound?.runtime_id !== request.runtime_id) this.#operations.forget()
    if (renew || this.#bound === null) {
      this.#network = request.network ?? null
      this.#bound = request
    }
    return { json: { runtime_id: request.runtime_id, network: this.#network !== null } }
  }

  #seed(request: SeedRequest): FakeAnswer {
    if (this.#bound !== null) throw new HoltError('conflict', 'the runtime is bound')
    this.#seeded = request
    this.#network = request.network
    return { json: { limits: { pids: request.pids_max !== null }, network: request.network !== null, problems: [] } }
  }

  #quiesce(query: URLSearchParams): FakeAnswer {
    if (this.processes.size > 0 && query.get('force') !== '1') throw new HoltError('conflict', 'processes run')
    this.disconnect()
    return { json: {} }
  }

  #setNetwork({ network }: { network: GuestNetwork | null }): FakeAnswer {
    this.#network = network
    return { json: { network: network !== null, problems: [] } }
  }

  #defaults() {
    return this.#bound ?? { env: {}, user: 'root', workdir: '/', ...this.#seeded }
  }
}

function respond({ status = 200, headers = {}, json, stream }: FakeAnswer): GuestResponse {
  return { status, headers, body: stream ?? Readable.from([Buffer.from(JSON.stringify(json))]) }
}

function failure({ code, message, status, details }: HoltError): GuestResponse {
  return respond({ status, json: { error: { code, message, details } } })
}

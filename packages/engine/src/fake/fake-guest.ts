import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { ErrorCode } from '@holt/protocol'
import { errorCatalogue, HoltError } from '@holt/protocol'
import { EngineError } from '../contract.ts'
import type { GuestLink, GuestRequest, GuestResponse } from '../guest-link.ts'
import { FakeFiles } from './fake-files.ts'
import { FakeProcesses } from './fake-processes.ts'

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
 * A guest in memory that speaks guest/PROTOCOL.md: processes from a small table of programs, files in a tree of nodes.
 * It is a `GuestLink` itself, so no socket is between.
 */
export class FakeGuest implements GuestLink {
  readonly files = new FakeFiles()
  readonly processes = new FakeProcesses()
  #bound: {
    readonly runtime_id: string
    readonly env: Record<string, string>
    readonly user: string
    readonly workdir: string
  } | null = null
  #stopped = false

  get connected(): boolean {
    return !this.#stopped
  }

  /** What `bind` said, or null. */
  get identity() {
    return this.#bound
  }

  /** Ends the guest and all it runs. */
  stop(): void {
    this.#stopped = true
    this.processes.stop()
  }

  async request(request: GuestRequest): Promise<GuestResponse> {
    request.signal.throwIfAborted()
    if (this.#stopped) throw new EngineError('unavailable', 'the guest is not connected')
    try {
      return respond(await this.#route(request))
    } catch (error) {
      if (error instanceof HoltError) return failure(error.code, error.message)
      throw error
    }
  }

  async #route(request: GuestRequest): Promise<FakeAnswer> {
    const url = new URL(request.path, 'http://guest')
    const body =
      request.body === undefined
        ? Buffer.alloc(0)
        : request.body instanceof Readable
          ? await buffer(request.body)
          : Buffer.from(request.body)
    const always = /^\/v1\/(info|bind|quiesce)$/.test(url.pathname)
    if (!always && this.#bound === null) throw new HoltError('conflict', 'not bound yet')
    for (const { method, pattern, handle } of this.#routes) {
      const match = method === request.method ? pattern.exec(url.pathname) : null
      if (match !== null) return handle(match, url.searchParams, body, request)
    }
    throw new HoltError('invalid_request', `no route ${request.method} ${url.pathname}`)
  }

  readonly #routes: readonly Route[] = [
    { method: 'GET', pattern: /^\/v1\/info$/, handle: () => ({ json: this.#info() }) },
    { method: 'POST', pattern: /^\/v1\/bind$/, handle: (_, __, body) => this.#bind(JSON.parse(body.toString())) },
    { method: 'POST', pattern: /^\/v1\/quiesce$/, handle: () => ({ json: {} }) },
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
    { method: 'DELETE', pattern: /^\/v1\/processes\/(\w+)$/, handle: ([, id]) => this.processes.kill(id ?? '') },
    { method: 'GET', pattern: /^\/v1\/files\/stat$/, handle: (_, query) => this.files.stat(query) },
    { method: 'GET', pattern: /^\/v1\/files\/list$/, handle: (_, query) => this.files.list(query) },
    {
      method: 'GET',
      pattern: /^\/v1\/files\/content$/,
      handle: (_, query, __, request) => this.files.read(query, request.headers?.range),
    },
    { method: 'PUT', pattern: /^\/v1\/files\/content$/, handle: (_, query, body) => this.files.write(query, body) },
    {
      method: 'POST',
      pattern: /^\/v1\/files\/(mkdir|remove|move|copy)$/,
      handle: ([, verb], _, body) => this.files.change(verb ?? '', JSON.parse(body.toString())),
    },
  ]

  #info() {
    return { version: 'fake', protocol: 1, runtime_id: this.#bound?.runtime_id ?? null, processes: this.processes.size }
  }

  #bind(request: { runtime_id: string; env: Record<string, string>; user: string; workdir: string }): FakeAnswer {
    if (this.#bound !== null && this.#bound.runtime_id !== request.runtime_id)
      throw new HoltError('conflict', 'bound to another runtime')
    this.#bound = request
    return { json: { runtime_id: request.runtime_id } }
  }

  #defaults() {
    return { env: this.#bound?.env ?? {}, user: this.#bound?.user ?? 'root', workdir: this.#bound?.workdir ?? '/' }
  }
}

function respond({ status = 200, headers = {}, json, stream }: FakeAnswer): GuestResponse {
  return { status, headers, body: stream ?? Readable.from([Buffer.from(JSON.stringify(json))]) }
}

function failure(code: ErrorCode, message: string): GuestResponse {
  return respond({ status: errorCatalogue[code].status, json: { error: { code, message } } })
}

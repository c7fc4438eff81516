import type { ErrorCode, RouteName } from '@holt/protocol'
import { errorOfAnswer, HoltApiError, HoltConnectionError, HoltError } from '../errors/errors.ts'
import { localError } from '../errors/local-error.ts'
import { isUnderWay, retryDelayMs, sleep } from './retry.ts'
import { type RouteAddress, routeAddresses } from './route-addresses.ts'
import type { BodyOf, JsonAnswer } from './route-types.ts'
import { streamOf } from './stream-of.ts'
import type { WebSocketClass } from './web-socket.ts'

/** Options of every call. */
export interface CallOptions {
  /**
   * The signal that ends the call, which then throws the signal's reason. The service may finish
   * work that it has begun.
   */
  readonly signal?: AbortSignal | undefined
}

/** Options of a change. */
export interface ChangeOptions extends CallOptions {
  /**
   * The etag of the version to change, as answers have it, or `*` for any version. If there is
   * another version, the call fails with `precondition_failed` and changes nothing. Default: no
   * condition.
   */
  readonly ifMatch?: string | undefined
}

/**
 * The bytes to send. A function is called again for each try, so that its stream can be sent again.
 */
export type RequestBytes =
  | string
  | Uint8Array<ArrayBuffer>
  | Blob
  | ReadableStream<Uint8Array>
  | (() => ReadableStream<Uint8Array>)

/** One request, in the words of the route table. */
export interface Request<Name extends RouteName> extends CallOptions {
  /**
   * The signal that ends the connection in place of `signal`. Then `signal` only ends work before
   * and between tries.
   */
  readonly connection?: AbortSignal | undefined
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly json?: BodyOf<Name>
  readonly bytes?: RequestBytes
  readonly headers?: Readonly<Record<string, string>>
  readonly idempotencyKey?: string | undefined
  /** True if the caller itself finds out what arrived, and sends the rest. */
  readonly resumes?: boolean
  /** True for a PUT that refuses an existing destination. */
  readonly creates?: boolean
  /** The etag of the version that the request changes, or `*`. */
  readonly ifMatch?: string | undefined
  /**
   * True for a POST that requests a state. The service does nothing if that state exists already.
   */
  readonly twiceIsOnce?: boolean
  /** The time limit in place of the client's own, in milliseconds; null for none. */
  readonly timeoutMs?: number | null
  /** The statuses besides 2xx that are answers, not errors. */
  readonly accepted?: readonly number[]
}

/** A request that failed and is sent again. */
export interface Retry {
  /** The reason for the failure. */
  readonly error: unknown
  /** The time until it is sent again, in milliseconds. */
  readonly delayMs: number
  /**
   * The number of times that it is sent again at most, this time included. Null for a request that
   * still runs: its answer is requested until the time limit.
   */
  readonly retriesLeft: number | null
}

/** Options for reaching a service. */
export interface TransportOptions {
  readonly url: string
  readonly apiKey: string | undefined
  readonly fetch: typeof globalThis.fetch
  readonly maxRetries: number
  readonly timeoutMs: number
  readonly resumeTimeoutMs: number
  /** The class of WebSockets. Undefined means the global one. */
  readonly webSocket?: WebSocketClass | undefined
  readonly onRetry?: ((retry: Retry) => void) | undefined
}

/**
 * Sends requests of the route table. It authenticates, limits their time, retries if that is safe,
 * and turns failures into errors.
 */
export class Transport {
  readonly options: TransportOptions
  constructor(options: TransportOptions) {
    this.options = options
  }

  /** Sends a request whose answer is JSON. */
  async call<Name extends RouteName>(name: Name, request: Request<Name> = {}): Promise<JsonAnswer<Name>> {
    return this.#send(name, request, async (response) => JSON.parse(await response.text()) as JsonAnswer<Name>)
  }

  /** Sends a request whose answer has no body. */
  async run<Name extends RouteName>(name: Name, request: Request<Name> = {}): Promise<void> {
    return this.#send(name, request, async (response) => {
      await response.body?.cancel()
    })
  }

  /** Sends a request whose answer is read as it arrives. The time limit ends with the headers. */
  async open<Name extends RouteName>(name: Name, request: Request<Name> = {}): Promise<Response> {
    return this.#send(name, request, async (response) => response)
  }

  /** Fetches an address of a program inside. A missing answer is a `HoltConnectionError`. */
  async fetch(address: URL, init: RequestInit): Promise<Response> {
    try {
      return await this.options.fetch(address, init)
    } catch (error) {
      init.signal?.throwIfAborted()
      throw error instanceof TypeError ? this.#connectionError(error) : error
    }
  }

  async #send<Name extends RouteName, Answer>(
    name: Name,
    request: Request<Name>,
    read: (response: Response) => Promise<Answer>,
  ): Promise<Answer> {
    const route = routeAddresses[name]
    const sinceMs = performance.now()
    let lost: HoltConnectionError | undefined
    for (let tries = 1; ; tries++) {
      try {
        return await this.#tryOnce(route, request, read)
      } catch (error) {
        request.signal?.throwIfAborted()
        if (lost !== undefined && request.creates === true && hasCode(error, 'already_exists'))
          throw new HoltConnectionError('lost', madeOrNot, { cause: lost })
        if (lost !== undefined && request.ifMatch !== undefined && hasCode(error, 'precondition_failed'))
          throw new HoltConnectionError('lost', changedOrNot, { cause: lost })
        if (error instanceof HoltConnectionError && error.reason === 'lost') lost = error
        const delayMs = retryDelayMs({
          method: route.method,
          resumes: request.resumes === true,
          error,
          tries,
          maxRetries: this.options.maxRetries,
          keyed: request.idempotencyKey !== undefined || request.twiceIsOnce === true,
          repeatable: !(request.bytes instanceof ReadableStream),
          timeLeftMs: this.#timeoutMs(request) - (performance.now() - sinceMs),
        })
        if (delayMs === null) throw error
        const retriesLeft = isUnderWay(error) ? null : this.options.maxRetries - tries + 1
        this.options.onRetry?.({ error, delayMs, retriesLeft })
        await sleep(delayMs, request.signal)
      }
    }
  }

  async #tryOnce<Name extends RouteName, Answer>(
    route: RouteAddress,
    request: Request<Name>,
    read: (response: Response) => Promise<Answer>,
  ): Promise<Answer> {
    request.signal?.throwIfAborted()
    const limit = new AbortController()
    const timeoutMs = this.#timeoutMs(request)
    const timer = timeoutMs === Number.POSITIVE_INFINITY ? undefined : setTimeout(() => limit.abort(), timeoutMs)
    const end = request.connection ?? request.signal
    const signal = end === undefined ? limit.signal : AbortSignal.any([end, limit.signal])
    let unreadable: { readonly error: unknown } | undefined
    const noteUnreadable = (error: unknown) => {
      unreadable = { error: localError(error) }
      limit.abort()
    }
    try {
      const init = this.#init(route, request, { signal, noteUnreadable })
      const response = await this.options.fetch(this.#address(route, request), init)
      if (!response.ok && !request.accepted?.includes(response.status))
        throw errorOfAnswer(response, await response.text(), request)
      return await read(response)
    } catch (error) {
      request.signal?.throwIfAborted()
      if (unreadable !== undefined) throw unreadable.error
      if (limit.signal.aborted) throw this.#failure('timeout', `did not answer within ${timeoutMs} ms`, error)
      throw error instanceof TypeError || error instanceof SyntaxError ? this.#connectionError(error) : error
    } finally {
      clearTimeout(timer)
    }
  }

  #timeoutMs({ timeoutMs = this.options.timeoutMs }: Request<RouteName>): number {
    return timeoutMs ?? Number.POSITIVE_INFINITY
  }

  /** Returns the address of a request of a route. */
  addressOf<Name extends RouteName>(name: Name, request: Request<Name>): URL {
    return this.#address(routeAddresses[name], request)
  }

  #address(route: RouteAddress, request: Request<RouteName>): URL {
    const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => partOf(name, request.params?.[name] ?? ''))
    const base = this.options.url.endsWith('/') ? this.options.url : `${this.options.url}/`
    const url = new URL(path.slice(1), base)
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined) url.searchParams.append(name, String(value))
    }
    return url
  }

  #init(
    route: RouteAddress,
    request: Request<RouteName>,
    { signal, noteUnreadable }: { signal: AbortSignal; noteUnreadable: (error: unknown) => void },
  ): RequestInit {
    const headers: Record<string, string> = { accept: 'application/json', ...request.headers }
    if (this.options.apiKey !== undefined && route.scope !== null)
      headers.authorization = `Bearer ${this.options.apiKey}`
    if (request.idempotencyKey !== undefined) headers['idempotency-key'] = request.idempotencyKey
    if (request.ifMatch !== undefined) headers['if-match'] = request.ifMatch
    const init: RequestInit = { method: route.method, headers, signal, redirect: 'error' }
    if (request.json !== undefined) {
      headers['content-type'] = 'application/json'
      return { ...init, body: JSON.stringify(request.json) }
    }
    if (request.bytes === undefined) return init
    headers['content-type'] = 'application/octet-stream'
    const body = typeof request.bytes === 'function' ? request.bytes() : request.bytes
    if (!(body instanceof ReadableStream)) return { ...init, body }
    return { ...init, body: streamOf(watched(body, noteUnreadable)) as typeof body, duplex: 'half' } as RequestInit
  }

  #connectionError(error: Error): HoltConnectionError {
    const cause = error.cause as { code?: string; message?: string } | undefined
    const refused = notSentCodes.includes(cause?.code ?? '') || cause?.message === badPort
    const why = cause?.message || cause?.code || error.message
    return refused
      ? this.#failure('refused', `cannot be reached: ${why}`, error)
      : this.#failure('lost', `was cut off: ${why}`, error)
  }

  #failure(reason: 'refused' | 'lost' | 'timeout', what: string, cause: unknown): HoltConnectionError {
    const message =
      reason === 'lost' ? `The connection to ${this.options.url} ${what}` : `Holt at ${this.options.url} ${what}`
    return new HoltConnectionError(reason, message, { cause })
  }
}

const madeOrNot =
  'The connection was lost before the answer, and the destination exists now. Compare it with what was sent: the first try may have made it'

const changedOrNot =
  'The connection was lost before the answer, and there is another version now. Read it again: the first try may have made it'

function hasCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof HoltApiError && error.code === code
}

/**
 * Returns a name or an id as a part of a path. `.` and `..` would lead to another path, such as
 * that of the thing above.
 */
function partOf(name: string, value: string): string {
  if (['', '.', '..'].includes(value))
    throw new HoltError('invalid_request', `${name} cannot be '${value}'`, { hint: 'Give a name or an id.' })
  return encodeURIComponent(value)
}

/**
 * Yields the parts of a body, and reports why it cannot be read. To fetch such a failure looks like
 * a broken connection.
 */
async function* watched(
  body: AsyncIterable<Uint8Array>,
  noteUnreadable: (error: unknown) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* body
  } catch (error) {
    noteUnreadable(error)
    throw error
  }
}

/**
 * The message of fetch for a port to which it never connects (Fetch Standard, 2.9 Port blocking).
 */
const badPort = 'bad port'

/** The codes of failures before a byte of the request is sent. */
const notSentCodes: readonly string[] = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]

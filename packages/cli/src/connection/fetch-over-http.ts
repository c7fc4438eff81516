import type { IncomingMessage } from 'node:http'

/** A request that needs only HTTP/1.1 without TLS. */
interface PlainRequest {
  readonly method: string | undefined
  readonly headers: Record<string, string>
  readonly body: string | undefined
  readonly signal: AbortSignal | undefined
}

/**
 * Sends a request with Node's own HTTP client. It behaves like the global fetch, whose first use
 * takes longer than the rest of a command line. Requests that need more go to the global fetch:
 * TLS, a streaming body, followed redirects.
 */
export const fetchOverHttp: typeof globalThis.fetch = async (input, init = {}) => {
  const plain = plainRequest(init)
  if (!(input instanceof URL) || input.protocol !== 'http:' || plain === null) return globalThis.fetch(input, init)
  return send(input, plain)
}

function plainRequest({ method, headers = {}, body, signal, redirect }: RequestInit): PlainRequest | null {
  const isPlain = redirect === 'error' && (body === undefined || typeof body === 'string')
  // The value is an array, or an object of the class Headers. Even naming that class loads the
  // global fetch.
  if (!isPlain || Symbol.iterator in headers) return null
  return { method, headers: headers as Record<string, string>, body, signal: signal ?? undefined }
}

function send(url: URL, { method = 'GET', headers, body, signal }: PlainRequest): Promise<Response> {
  // Not imported: an import reads every name of the module, and WebSocket loads the global fetch.
  const { request } = process.getBuiltinModule('node:http')
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, ...(signal === undefined ? {} : { signal }) }, (message) => {
      const { statusCode = 0, headers } = message
      if (statusCode >= 300 && statusCode < 400 && headers.location !== undefined) {
        sent.destroy()
        reject(new TypeError('fetch failed', { cause: new Error('unexpected redirect') }))
      } else resolve(answerOf(message, method))
    })
    sent.on('error', (cause) => reject(failureOf(cause, signal)))
    sent.end(body)
  })
}

/** Statuses of answers without a body (Fetch Standard, 2.2.3: null body status). */
const emptyStatuses: ReadonlySet<number> = new Set([204, 205, 304])

/**
 * Returns an answer with the parts of a Response that the client reads. The class Response itself
 * would load the global fetch.
 */
function answerOf(message: IncomingMessage, method: string): Response {
  const status = message.statusCode ?? 0
  const isEmpty = method === 'HEAD' || emptyStatuses.has(status) || message.headers['content-length'] === '0'
  // Read to its end, so that the connection serves the next request.
  if (isEmpty) message.resume()
  const answer = {
    status,
    ok: status >= 200 && status < 300,
    headers: { get: (name: string) => headerOf(message, name) },
    body: isEmpty
      ? null
      : { [Symbol.asyncIterator]: () => piecesOf(message), cancel: async () => void message.destroy() },
    text: async () => {
      if (isEmpty) return ''
      const pieces: Uint8Array[] = []
      for await (const piece of piecesOf(message)) pieces.push(piece)
      return new TextDecoder().decode(Buffer.concat(pieces))
    },
  }
  return answer as unknown as Response
}

function headerOf({ headers }: IncomingMessage, name: string): string | null {
  const value = headers[name.toLowerCase()]
  return Array.isArray(value) ? value.join(', ') : (value ?? null)
}

/** Yields the body. A body that breaks off fails as with fetch. */
async function* piecesOf(message: IncomingMessage): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for await (const piece of message) yield piece as Uint8Array
  } catch (cause) {
    throw new TypeError('terminated', { cause })
  }
}

function failureOf(cause: Error, signal: AbortSignal | undefined): unknown {
  return signal?.aborted === true ? signal.reason : new TypeError('fetch failed', { cause })
}

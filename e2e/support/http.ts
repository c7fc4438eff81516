import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/**
 * A request as it goes over the wire: nothing is normalised, so that wrong ones arrive as they are.
 */
export interface WireRequest {
  readonly method: string
  /** Path and query, already encoded. */
  readonly target: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | Readable
  readonly signal?: AbortSignal
  /** How long the answer may take to begin and, when it is read here, to end. */
  readonly timeoutMs?: number
}

/** An answer, read to its end. */
export interface WireAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

/**
 * Longer than any request of the tests may take; a service that hangs fails a test, not the run.
 */
const DEFAULT_TIMEOUT_MS = 90_000

const agent = new Agent({ keepAlive: true, maxSockets: 64 })

/** Closes idle connections, so that the service's descriptors can be counted. */
export function closeConnections(): void {
  agent.destroy()
}

/** Sends a request and reads the whole answer. */
export async function send(url: string, wire: WireRequest): Promise<WireAnswer> {
  const signal = signalOf(wire)
  const message = await open(url, { ...wire, signal })
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return { status: message.statusCode ?? 0, headers: message.headers, bytes: Buffer.concat(chunks) }
}

/**
 * Sends a request and answers as soon as the headers are there; the caller reads or destroys the
 * message.
 */
export async function open(url: string, wire: WireRequest): Promise<IncomingMessage> {
  const { hostname, port } = new URL(url)
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const outgoing = request({
    agent,
    hostname,
    port,
    method: wire.method,
    path: wire.target,
    headers: { ...wire.headers },
    signal: wire.signal ?? signalOf(wire),
  })
  outgoing.once('response', resolve).once('error', reject)
  if (wire.body instanceof Readable) {
    // An early answer ends the upload; the answer is what the caller asked for.
    pipeline(wire.body, outgoing).catch(reject)
  } else {
    outgoing.end(wire.body)
  }
  return promise
}

function signalOf(wire: WireRequest): AbortSignal {
  const limit = AbortSignal.timeout(wire.timeoutMs ?? DEFAULT_TIMEOUT_MS)
  return wire.signal === undefined ? limit : AbortSignal.any([wire.signal, limit])
}

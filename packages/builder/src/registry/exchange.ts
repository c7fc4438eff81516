import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import type { Duplex } from 'node:stream'
import { NetworkError, type NetworkFailure, type RegistryNetwork } from './registry-contract.ts'
import type { RetryPolicy } from './retry-policy.ts'
import { TransferError } from './transfer-error.ts'

/** One request. */
export interface Exchange {
  readonly url: URL
  readonly method: 'GET' | 'HEAD'
  readonly headers: Readonly<Record<string, string>>
  readonly isOperators: boolean
}

/**
 * The head of an answer, and its body, which can be read once. `close` ends the connection at any
 * time.
 */
export interface Answer {
  /** The address that the answer came from. */
  readonly url: URL
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: AsyncIterable<Uint8Array>
  close(): void
}

/** The network for HTTP requests, and the time to wait for answers. */
export interface Wire {
  readonly network: RegistryNetwork
  readonly retryPolicy: RetryPolicy
}

/**
 * The maximum size of an answer's head in bytes. Signed addresses of object stores in `Location`
 * have a few KiB.
 */
const maxHeadBytes = 32 * 1024

const whyNot: Readonly<Record<NetworkFailure, string>> = {
  not_allowed: 'resolves to an address that is not public',
  no_such_host: 'does not exist, or has no address',
  tls_failed: 'has no certificate that can be trusted',
  unreachable: 'cannot be reached',
}

/**
 * Sends one request over a connection of its own. Redirects and errors are returned like other
 * answers. Nothing is retried.
 */
export async function exchange(wire: Wire, asked: Exchange, signal: AbortSignal): Promise<Answer> {
  signal.throwIfAborted()
  const socket = await connect(wire.network, asked, signal)
  try {
    const message = await sendAndWait(socket, asked, { signal, timeoutMs: wire.retryPolicy.headTimeoutMs })
    return {
      url: asked.url,
      status: message.statusCode ?? 0,
      headers: message.headers,
      body: patiently(message, { ...wire, host: asked.url.host, signal, end: () => socket.destroy() }),
      close: () => socket.destroy(),
    }
  } catch (error) {
    socket.destroy()
    signal.throwIfAborted()
    if (error instanceof TransferError) throw error
    throw new TransferError('unreachable', `${asked.url.host} does not answer.`, { cause: error })
  }
}

async function connect(network: RegistryNetwork, { url, isOperators }: Exchange, signal: AbortSignal): Promise<Duplex> {
  const tls = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const port = url.port === '' ? (tls ? 443 : 80) : Number(url.port)
  try {
    return await network.connect({ host, port, tls, isOperators }, signal)
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof NetworkError)) throw error
    const reason = error.reason === 'tls_failed' ? 'not_allowed' : error.reason
    throw new TransferError(reason, `${url.host} ${whyNot[error.reason]}.`, { cause: error })
  }
}

async function sendAndWait(
  socket: Duplex,
  { url, method, headers }: Exchange,
  { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const sent = request({
    // The socket already has its TLS, and serves this one request.
    createConnection: () => socket,
    method,
    path: `${url.pathname}${url.search}`,
    headers: { ...headers, host: url.host, 'user-agent': 'holt', 'accept-encoding': 'identity', connection: 'close' },
    maxHeaderSize: maxHeadBytes,
    signal,
  })
  const timer = setTimeout(() => reject(new Error('no answer in time')), timeoutMs)
  sent.once('response', resolve).on('error', reject)
  sent.once('close', () => reject(new Error('the connection was closed')))
  sent.end()
  try {
    return await promise
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Yields a body. Throws if it brings too few bytes within the time of waiting for it. The speed of
 * the reader does not count.
 */
async function* patiently(
  message: IncomingMessage,
  { retryPolicy, host, signal, end }: { retryPolicy: RetryPolicy; host: string; signal: AbortSignal; end: () => void },
): AsyncGenerator<Uint8Array> {
  const iterator: AsyncIterator<Buffer> = message[Symbol.asyncIterator]()
  let window = { waitedMs: 0, bytes: 0 }
  try {
    for (;;) {
      const began = performance.now()
      const coming = iterator.next()
      while (!(await settles(coming, retryPolicy.windowMs - window.waitedMs))) {
        if (window.bytes < retryPolicy.minWindowBytes)
          throw new TransferError('unreachable', `${host} has stopped sending.`)
        window = { waitedMs: 0, bytes: 0 }
      }
      const next = await coming
      if (next.done === true) return
      window = { waitedMs: window.waitedMs + performance.now() - began, bytes: window.bytes + next.value.length }
      yield next.value
    }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof TransferError) throw error
    throw new TransferError('unreachable', `${host} closed the connection.`, { cause: error })
  } finally {
    end()
  }
}

/** Returns true if a promise resolves or rejects within a time. */
async function settles(promise: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(false), Math.max(0, timeoutMs))
  const settled = () => true
  try {
    return await Promise.race([promise.then(settled, settled), late])
  } finally {
    clearTimeout(timer)
  }
}

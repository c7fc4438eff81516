import { type Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { EngineError } from '@holt/engine'
import { HoltError } from '@holt/protocol'
import type { RuntimeLink } from '../../runtimes/links/runtime-link.ts'
import { bridgePort } from './bridge-connections.ts'
import { bridgeFailed } from './bridge-errors.ts'

/**
 * The time for the head of an answer, in milliseconds. The bridge sends it before any code runs.
 */
const headTimeoutMs = 30_000

/** The time for the rest of an answer of which everything needed was read, in milliseconds. */
const farewellMs = 1_000

/** The header with the name of the bridge's process, which a restart changes. */
const instanceHeader = 'x-holt-interpreter'

/** The maximum number of bytes of the head of an answer. */
const maxHeadBytes = 16 * 1024

/** A request to the bridge. */
export interface BridgeRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** The path and query, percent-encoded. */
  readonly path: string
  readonly json?: unknown
}

/** The way to the bridge of one runtime. */
export interface BridgeWay {
  readonly link: RuntimeLink
  /** The connections to the bridge over this link. */
  readonly agent: Agent
}

/** An answer of the bridge. The receiver calls `letEnd` or `destroy`. */
export class BridgeAnswer {
  readonly status: number
  /** The name of the bridge's process; null if it has none. */
  readonly instance: string | null
  readonly #incoming: IncomingMessage
  readonly #connection: Duplex

  constructor(incoming: IncomingMessage) {
    this.status = incoming.statusCode ?? 0
    const instance = incoming.headers[instanceHeader]
    this.instance = typeof instance === 'string' ? instance : null
    this.#incoming = incoming
    this.#connection = incoming.socket
    incoming.on('error', () => {
      // The reader of the chunks gets the error.
    })
  }

  /** Yields the body as it arrives. Throws `EngineError` `unavailable` if it breaks off. */
  async *chunks(): AsyncGenerator<Buffer> {
    try {
      yield* this.#incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
    } catch (error) {
      throw breakOf(this.#connection, error)
    }
  }

  /** Lets the answer end by itself, after everything that is needed has been read. */
  letEnd(): void {
    const incoming = this.#incoming
    if (incoming.readableEnded || incoming.destroyed) return
    const timer = setTimeout(() => this.destroy(), farewellMs)
    const stop = () => clearTimeout(timer)
    incoming.once('end', stop)
    incoming.once('close', stop)
    incoming.resume()
  }

  /** Ends the answer and its connection at once. */
  destroy(): void {
    this.#incoming.destroy()
    this.#connection.destroy()
  }
}

/**
 * Sends one request to the bridge of a runtime. The signal ends it, with its connection. Throws
 * `code_interpreter_missing` if nothing listens.
 */
export async function askBridge(way: BridgeWay, request: BridgeRequest, signal: AbortSignal): Promise<BridgeAnswer> {
  try {
    return await ask(way, request, signal)
  } catch (error) {
    if (!(error instanceof StaleConnection)) throw error
    // The bridge has closed the connection while it waited, or was killed.
    return ask(way, request, signal)
  }
}

/** The break of a connection that had carried an earlier answer, before the head of this one. */
class StaleConnection extends HoltError {}

async function ask({ link, agent }: BridgeWay, request: BridgeRequest, signal: AbortSignal): Promise<BridgeAnswer> {
  const use = link.use()
  let connection: Duplex | null = null
  try {
    // A kept connection bypasses the link, which thaws the runtime and waits during a checkpoint.
    await link.connect(signal)
  } catch (error) {
    use[Symbol.dispose]()
    throw error
  }
  const outgoing = prepare(agent, request)
  outgoing.once('socket', (socket) => {
    connection = socket
  })
  const abort = () => outgoing.destroy(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  outgoing.once('close', () => {
    signal.removeEventListener('abort', abort)
    use[Symbol.dispose]()
  })
  try {
    return new BridgeAnswer(await headOf(outgoing))
  } catch (error) {
    outgoing.destroy()
    throw failureOf(outgoing, connection, error)
  }
}

function prepare(agent: Agent, { method, path, json }: BridgeRequest): ClientRequest {
  const body = json === undefined ? null : Buffer.from(JSON.stringify(json))
  const outgoing = httpRequest({
    agent,
    method,
    path,
    headers: {
      host: `127.0.0.1:${bridgePort}`,
      ...(body === null ? {} : { 'content-type': 'application/json', 'content-length': body.length }),
    },
    maxHeaderSize: maxHeadBytes,
  })
  outgoing.end(body)
  return outgoing
}

function headOf(outgoing: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(bridgeFailed('it sends no answer')), headTimeoutMs)
    outgoing.once('response', resolve)
    outgoing.on('error', reject)
    outgoing.once('close', () => {
      clearTimeout(timer)
      reject(new Error('the connection was closed'))
    })
    outgoing.once('response', () => clearTimeout(timer))
  })
}

/** Returns the reason for an answer without a head: that of the way to the runtime, if any. */
function failureOf(outgoing: ClientRequest, connection: Duplex | null, error: unknown): unknown {
  const reason = reasonOf(connection, error)
  if (reason !== null) return reason
  if (error instanceof HoltError) return error
  const failure = bridgeFailed('it broke off its answer', { cause: error })
  const isStale = outgoing.reusedSocket && isReset(error)
  return isStale ? new StaleConnection(failure.code, failure.message, { cause: failure.cause }) : failure
}

function isReset(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ECONNRESET'
}

/** Returns the reason for an answer that breaks off. A bridge that was killed is started again. */
function breakOf(connection: Duplex, cause: unknown): unknown {
  const broken = () => new EngineError('unavailable', 'the bridge of a runtime broke off its answer', { cause })
  return reasonOf(connection, cause) ?? broken()
}

function reasonOf(connection: Duplex | null, error: unknown): EngineError | null {
  if (connection?.errored instanceof EngineError) return connection.errored
  return error instanceof EngineError ? error : null
}

import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { EngineError } from '@holt/engine'
import type { GuestClient, PortStream } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import { connectPort } from '../ports/connect-port.ts'
import { letClose } from '../ports/let-close.ts'
import { bridgeFailed, interpreterMissing } from './bridge-errors.ts'

/**
 * The port of the bridge, the program in a runtime that passes requests on to the kernels of
 * languages.
 */
export const bridgePort = 49_999

/**
 * The time for the head of an answer, in milliseconds. The bridge sends it before any code runs.
 */
const headTimeoutMs = 30_000

/** The header with the name of the bridge's process, which a restart changes. */
const instanceHeader = 'x-holt-interpreter'

/** The most bytes of the head of an answer. */
const maxHeadBytes = 16 * 1024

/** A request to the bridge. */
export interface BridgeRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** The path and query, percent-encoded. */
  readonly path: string
  readonly json?: unknown
}

/** An answer of the bridge. The receiver calls `letEnd` or `destroy`. */
export class BridgeAnswer {
  readonly status: number
  /** The name of the bridge's process; null if it has none. */
  readonly instance: string | null
  readonly #incoming: IncomingMessage
  readonly #connection: PortStream

  constructor(incoming: IncomingMessage, connection: PortStream) {
    this.status = incoming.statusCode ?? 0
    const instance = incoming.headers[instanceHeader]
    this.instance = typeof instance === 'string' ? instance : null
    this.#incoming = incoming
    this.#connection = connection
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

  /** Lets the connection end by itself, after everything that is needed has been read. */
  letEnd(): void {
    this.#incoming.resume()
    void letClose(this.#connection).then(() => this.destroy())
  }

  /** Ends the connection at once. */
  destroy(): void {
    this.#connection.destroy()
  }
}

/**
 * Sends one request to the bridge of a runtime, over a connection of its own. The signal ends the
 * connection. Throws `code_interpreter_missing` if nothing listens.
 */
export async function askBridge(
  guest: GuestClient,
  request: BridgeRequest,
  signal: AbortSignal,
): Promise<BridgeAnswer> {
  const connection = await connect(guest, signal)
  try {
    return new BridgeAnswer(await headOf(send(connection, request), connection), connection)
  } catch (error) {
    connection.destroy()
    throw error
  }
}

async function connect(guest: GuestClient, signal: AbortSignal): Promise<PortStream> {
  try {
    return await connectPort(guest, bridgePort, signal)
  } catch (error) {
    throw error instanceof HoltError && error.code === 'port_not_listening' ? interpreterMissing() : error
  }
}

function send(connection: PortStream, { method, path, json }: BridgeRequest): ClientRequest {
  const body = json === undefined ? null : Buffer.from(JSON.stringify(json))
  const outgoing = httpRequest({
    createConnection: () => connection,
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

function headOf(outgoing: ClientRequest, connection: PortStream): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(bridgeFailed('it sends no answer')), headTimeoutMs)
    outgoing.once('response', resolve)
    outgoing.on('error', (error) => reject(failureOf(connection, error)))
    outgoing.once('close', () => {
      clearTimeout(timer)
      reject(failureOf(connection, new Error('the connection was closed')))
    })
    outgoing.once('response', () => clearTimeout(timer))
  })
}

/** Returns the reason for an answer without a head: that of the way to the runtime, if any. */
function failureOf(connection: PortStream, error: unknown): unknown {
  return reasonOf(connection, error) ?? bridgeFailed('it broke off its answer', { cause: error })
}

/** Returns the reason for an answer that breaks off. A bridge that was killed is started again. */
function breakOf(connection: PortStream, cause: unknown): unknown {
  const broken = () => new EngineError('unavailable', 'the bridge of a runtime broke off its answer', { cause })
  return reasonOf(connection, cause) ?? broken()
}

function reasonOf(connection: PortStream, error: unknown): EngineError | null {
  if (connection.errored instanceof EngineError) return connection.errored
  return error instanceof EngineError ? error : null
}

import { connect, type Socket } from 'node:net'
import { type Operation, reasonOf } from './subject.ts'

/** A server under load, and the request that it gets repeatedly. */
export interface LoadTarget {
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

const endOfHead = Buffer.from('\r\n\r\n')
/** The timeout of one answer, in milliseconds. A busy machine takes a few seconds. */
const answerTimeoutMs = 60_000

/**
 * A client of HTTP/1.1 on one connection, with one request at a time. It reads only a status, a
 * length and that many bytes. A general client would take more time than a plain server, and would
 * dominate the figures.
 */
export class LoadConnection implements Disposable {
  readonly #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #wake: () => void = () => {}
  #failure: Error | null = null

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
      this.#wake()
    })
    socket.setTimeout(answerTimeoutMs, () => socket.destroy(new Error('no answer in time')))
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('the server closed the connection')))
  }

  /** Connects to a port on loopback. */
  static async open(port: number): Promise<LoadConnection> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const connection = new LoadConnection(socket)
    await connection.#until(() => socket.readyState === 'open', socket)
    return connection
  }

  /** Sends a GET and returns the body. Rejects for each status except 200. */
  async get({ port, path, headers }: LoadTarget): Promise<Buffer> {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    this.#socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${lines.join('')}\r\n`)
    await this.#until(() => this.#received.includes(endOfHead))
    const bodyAt = this.#received.indexOf(endOfHead) + endOfHead.length
    const head = this.#received.toString('latin1', 0, bodyAt)
    const length = /^content-length: *(\d+)\r$/im.exec(head)?.[1]
    if (length === undefined) throw new Error(`an answer without a length: ${head.slice(0, 200)}`)
    const end = bodyAt + Number(length)
    await this.#until(() => this.#received.length >= end)
    const body = this.#received.subarray(bodyAt, end)
    this.#received = this.#received.subarray(end)
    if (!head.startsWith('HTTP/1.1 200 ')) throw new Error(`the answer was ${head.slice(9, 40)}: ${body}`)
    return body
  }

  [Symbol.dispose](): void {
    this.#socket.destroy()
  }

  async #until(isSo: () => boolean, opening?: Socket): Promise<void> {
    while (!isSo()) {
      if (this.#failure !== null) throw this.#failure
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        opening?.once('connect', resolve)
      })
    }
  }

  #fail(error: Error): void {
    this.#failure ??= error
    this.#wake()
  }
}

/** Opens `count` connections. Disposal closes all of them. */
export async function openConnections(
  port: number,
  count: number,
): Promise<Disposable & { readonly connections: readonly LoadConnection[] }> {
  const stack = new DisposableStack()
  try {
    const connections: LoadConnection[] = []
    while (connections.length < count) connections.push(stack.use(await LoadConnection.open(port)))
    return { connections, [Symbol.dispose]: () => stack.dispose() }
  } catch (error) {
    stack.dispose()
    throw error
  }
}

/** Sends `each` requests on every connection, concurrently. Each answer must have `bytes` bytes. */
export async function load(
  connections: readonly LoadConnection[],
  target: LoadTarget,
  { series, each, bytes }: { readonly series: string; readonly each: number; readonly bytes: number },
): Promise<readonly Operation[]> {
  const client = async (connection: LoadConnection) => {
    const operations: Operation[] = []
    for (let done = 0; done < each; done += 1) operations.push(await timedGet(connection, target, { series, bytes }))
    return operations
  }
  return (await Promise.all(connections.map(client))).flat()
}

/** Times one GET, whose answer must have `bytes` bytes. */
export async function timedGet(
  connection: LoadConnection,
  target: LoadTarget,
  { series, bytes }: { readonly series: string; readonly bytes: number },
): Promise<Operation> {
  const startedAt = performance.now()
  try {
    const body = await connection.get(target)
    const error = body.length === bytes ? null : `an answer of ${body.length} bytes, not ${bytes}`
    return { series, ms: performance.now() - startedAt, error }
  } catch (error) {
    return { series, ms: performance.now() - startedAt, error: reasonOf(error) }
  }
}

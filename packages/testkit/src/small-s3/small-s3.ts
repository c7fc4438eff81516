import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerRequest, type S3Answer } from './answer-request.ts'
import { S3Bucket } from './s3-bucket.ts'
import { noFaults, type S3Faults } from './s3-faults.ts'
import { sendSlowly } from './send-slowly.ts'

const accessKey = 'small-s3'
const name = 'bucket'

/**
 * A small S3 in memory on loopback, with one bucket. It knows the requests of `@holt/object-store`,
 * and misbehaves as `faults` says.
 */
export class SmallS3 implements AsyncDisposable {
  readonly faults: S3Faults = noFaults()
  readonly bucket = new S3Bucket()
  /** The credentials of its only user. */
  readonly env = { AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: 'small-s3-secret' }
  /** The method and path of each request so far. */
  readonly requests: string[] = []
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
    server.on('request', (request, response) => {
      this.#serve(request, response).catch((error: unknown) => response.destroy(error as Error))
    })
  }

  static async start(): Promise<SmallS3> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new SmallS3(server)
  }

  /** The address of the bucket for `openObjectStore`. */
  get url(): string {
    return this.urlOf('')
  }

  /** Returns the address of the objects below a prefix. */
  urlOf(prefix: string): string {
    return `s3://${name}/${prefix}?endpoint=${this.endpoint}&region=test-1`
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Ends all faults. */
  heal(): void {
    Object.assign(this.faults, noFaults())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests.push(`${request.method} ${request.url}`)
    const { faults } = this
    if (faults.refuses) return void request.socket.destroy()
    if (faults.silent) return
    const body = await bodyOf(request, faults)
    if (faults.silent || body === null) return
    if (Math.random() < faults.unavailable) return send(response, busy(faults.retryAfter), faults)
    const answer = answerRequest({ request, body, bucket: this.bucket, bucketName: name, accessKey, faults })
    if (request.method !== 'GET' && request.method !== 'HEAD' && faults.lostAnswers > 0) {
      faults.lostAnswers -= 1
      return void request.socket.destroy()
    }
    await send(response, answer, faults)
  }
}

/** Returns the body of a request; null if the client has left, or the connection was broken off. */
async function bodyOf(request: IncomingMessage, faults: S3Faults): Promise<Buffer | null> {
  const pieces: Buffer[] = []
  let length = 0
  try {
    for await (const piece of request) {
      pieces.push(piece)
      length += piece.length
      if (faults.breaksAfterBytes !== null && length > faults.breaksAfterBytes) request.socket.destroy()
    }
  } catch {
    return null // Its client sees the same broken connection.
  }
  const body = Buffer.concat(pieces)
  if (faults.flipsBitOfBodies && body.length > 0) body[0] = (body[0] ?? 0) ^ 1
  return body
}

function busy(retryAfter: number | null): S3Answer {
  return {
    status: 503,
    headers: retryAfter === null ? {} : { 'retry-after': `${retryAfter}` },
    body: Buffer.from('<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>'),
    isObject: false,
  }
}

async function send(response: ServerResponse, answer: S3Answer, faults: S3Faults): Promise<void> {
  const { status, headers, body, isObject } = answer
  const date = new Date(Date.now() + faults.clockAheadMs).toUTCString()
  response.writeHead(status, { 'content-length': body.length, ...headers, date })
  if (isObject) await sendSlowly(response, body, faults)
  else response.end(body)
}

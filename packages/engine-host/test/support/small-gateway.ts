import { performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Duplex } from 'node:stream'
import { buffer } from 'node:stream/consumers'

/** The one name that the gateway knows, and its address. */
export const KNOWN = { name: 'echo.test', address: '198.18.1.0' } as const

/** The behaviour of each port of every address. */
export const PORTS = { echo: 7, bulk: 20, bye: 24, wait: 25, refused: 403, broken: 502, late: 504 } as const

const BULK_BYTES = 128 * 2 ** 20

/** The host's end of an egress, with just enough of a gateway to see what the guest does. */
export class SmallGateway {
  readonly #sessions = new Set<ServerHttp2Session>()
  /** The bytes that arrived on the port `bye` after its farewell. */
  afterBye = ''
  /** Streams that have not ended. */
  open = 0
  /** The last process that asked, as the guest describes it. */
  process = ''

  readonly accept = (connection: Duplex): void => {
    const session = performServerHandshake(connection, {
      settings: { initialWindowSize: 2 ** 20, maxConcurrentStreams: 2_000 },
    })
    this.#sessions.add(session)
    session.on('close', () => this.#sessions.delete(session))
    session.on('error', () => {
      // A guest that is removed resets its connection.
    })
    session.on('stream', (stream, headers) => {
      this.open += 1
      stream.on('close', () => {
        this.open -= 1
      })
      stream.on('error', () => {
        // Resets are part of the tests.
      })
      this.process = Buffer.from(String(headers['x-holt-process'] ?? ''), 'base64').toString()
      if (headers[':method'] !== 'CONNECT') void answerQuestion(stream)
      else this.#connect(stream, Number(/:(\d+)$/.exec(String(headers[':authority']))?.[1]))
    })
  }

  #connect(stream: ServerHttp2Stream, port: number): void {
    if (port === PORTS.refused || port === PORTS.broken || port === PORTS.late) {
      stream.respond({ ':status': port }, { endStream: true })
      return
    }
    stream.respond({ ':status': 200 })
    if (port === PORTS.echo) stream.pipe(stream)
    if (port === PORTS.bulk) sendBulk(stream)
    if (port === PORTS.bye) {
      stream.end('bye')
      stream.on('data', (part: Buffer) => (this.afterBye += part.toString()))
    }
  }

  /** Cuts every connection to the guest. */
  cut(): void {
    for (const session of this.#sessions) session.destroy()
  }
}

function sendBulk(stream: ServerHttp2Stream): void {
  const chunk = Buffer.alloc(256 * 1024)
  let left = BULK_BYTES
  const send = (): void => {
    while (left > 0) {
      left -= chunk.length
      if (!stream.write(chunk)) return void stream.once('drain', send)
    }
    stream.end()
  }
  stream.resume()
  send()
}

/**
 * Answers A of the known name with its address, refuses other names, and has nothing else (RFC
 * 1035, section 4).
 */
async function answerQuestion(stream: ServerHttp2Stream): Promise<void> {
  const question = await buffer(stream).catch(() => Buffer.alloc(0)) // A stream that broke asks nothing.
  if (question.length < 12) return
  let at = 12
  const labels: string[] = []
  for (let length = question[at] ?? 0; length !== 0; length = question[at] ?? 0) {
    labels.push(question.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const isKnown = labels.join('.').toLowerCase() === KNOWN.name
  const isA = question.readUInt16BE(at + 1) === 1
  const answered = isKnown && isA
  const head = Buffer.from(question.subarray(0, at + 5))
  head.writeUInt16BE(isKnown ? 0x8180 : 0x8185, 2)
  head.writeUInt16BE(answered ? 1 : 0, 6)
  head.writeUInt32BE(0, 8)
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...KNOWN.address.split('.').map(Number)])
  stream.respond({ ':status': 200, 'content-type': 'application/dns-message' })
  stream.end(Buffer.concat(answered ? [head, record] : [head]))
}

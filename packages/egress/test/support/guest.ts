import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2, constants } from 'node:http2'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import packet, { type DecodedPacket, type RecordType } from 'dns-packet'
import type { RuntimeEgress } from '../../src/index.ts'

/** How a CONNECT was answered, and the connection when it was taken. */
export interface Connected {
  readonly status: number
  readonly reason: string | undefined
  readonly stream: ClientHttp2Stream
}

/**
 * Stands for a runtime's guest: speaks HTTP/2 to the gateway over a Unix socket, as `guest/` does.
 */
export class TestGuest implements AsyncDisposable {
  readonly session: ClientHttp2Session
  readonly socket: Socket
  readonly #stop: () => Promise<void>

  private constructor(session: ClientHttp2Session, socket: Socket, stop: () => Promise<void>) {
    this.session = session
    this.socket = socket
    this.#stop = stop
  }

  static async start(egress: RuntimeEgress): Promise<TestGuest> {
    const dir = await mkdtemp(join(tmpdir(), 'holt-egress-'))
    const server = createServer((connection) => egress.accept(connection))
    server.listen(join(dir, 'egress.sock'))
    await once(server, 'listening')
    const socket = connect(join(dir, 'egress.sock'))
    const session = connectHttp2('http://egress', { createConnection: () => socket, settings: { enablePush: false } })
    session.on('error', () => undefined)
    await once(session, 'remoteSettings')
    return new TestGuest(session, socket, async () => {
      session.destroy()
      server.close()
      await once(server, 'close')
      await rm(dir, { recursive: true })
    })
  }

  /** Posts the bytes of a DNS message; answers the status and the body. */
  async post(body: Buffer, headers: Record<string, string> = {}): Promise<{ status: number; body: Buffer }> {
    const stream = this.session.request({
      ':method': 'POST',
      ':path': '/dns-query',
      'content-type': 'application/dns-message',
      ...headers,
    })
    stream.end(body)
    const [response] = (await once(stream, 'response')) as [Record<string, number>]
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk)
    return { status: response[':status'] ?? 0, body: Buffer.concat(chunks) }
  }

  /** Asks for a name as a program's resolver does. */
  async query(name: string, type: RecordType = 'A'): Promise<DecodedPacket & { rcode: string }> {
    const message = packet.encode({
      type: 'query',
      id: 0x1234,
      flags: packet.RECURSION_DESIRED,
      questions: [{ type, class: 'IN', name }],
      additionals: [
        {
          type: 'OPT',
          name: '.',
          udpPayloadSize: 1232,
          extendedRcode: 0,
          ednsVersion: 0,
          flags: 0,
          flag_do: false,
          options: [],
        },
      ],
    })
    const { body } = await this.post(message)
    return packet.decode(body) as DecodedPacket & { rcode: string }
  }

  /** The address of a name, as getaddrinfo would have it. */
  async resolve(name: string): Promise<string> {
    const { answers, rcode } = await this.query(name)
    const [answer] = answers ?? []
    if (answer?.type !== 'A') throw new Error(`${name}: ${rcode}`)
    return answer.data
  }

  /** Asks for a connection to an authority. */
  async connect(authority: string, process?: object): Promise<Connected> {
    const stream = this.session.request({
      ':method': 'CONNECT',
      ':authority': authority,
      ...(process === undefined ? {} : { 'x-holt-process': Buffer.from(JSON.stringify(process)).toString('base64') }),
    })
    stream.on('error', () => undefined)
    const [headers] = (await once(stream, 'response')) as [Record<string, string>]
    return { status: Number(headers[':status']), reason: headers['x-holt-reason'], stream }
  }

  /** Resolves a name and connects to it, as programs do; throws when it was refused. */
  async dial(name: string, port: number): Promise<ClientHttp2Stream> {
    const { status, reason, stream } = await this.connect(`${await this.resolve(name)}:${port}`)
    if (status !== 200) throw new Error(`${name}: ${status} ${reason}`)
    return stream
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop()
  }
}

/** Waits for a stream's end and answers what came; how it ended is `reset` when it was reset. */
export async function drain(stream: ClientHttp2Stream): Promise<{ text: string; reset: boolean }> {
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  if (!stream.destroyed) await new Promise((resolve) => stream.once('close', resolve))
  const text = Buffer.concat(chunks).toString('latin1')
  return { text, reset: stream.rstCode !== constants.NGHTTP2_NO_ERROR }
}

import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RuntimeEgress } from '../../src/index.ts'
import { until } from './gateway.ts'

/** Frame types and flags (RFC 9113, 6). */
export const frameType = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
} as const
export const flag = { endStream: 1, ack: 1, endHeaders: 4 } as const

/** A frame as it goes over the wire. */
export interface Frame {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

/** Writes one frame. */
export function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Header fields as literals without indexing (RFC 7541, 6.2.2); each string below 127 bytes. */
export function fields(headers: Record<string, string>): Buffer {
  const text = (value: string) => Buffer.concat([Buffer.of(value.length), Buffer.from(value, 'latin1')])
  return Buffer.concat(Object.entries(headers).flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)]))
}

/** Makes frames of bytes as they come. The first `skippedBytes` are none: a client's preface. */
export class FrameReader {
  #buffered = Buffer.alloc(0)
  #skippedBytes: number

  constructor(skippedBytes = 0) {
    this.#skippedBytes = skippedBytes
  }

  read(bytes: Buffer): Frame[] {
    const frames: Frame[] = []
    const isBefore = Math.min(this.#skippedBytes, bytes.length)
    this.#skippedBytes -= isBefore
    this.#buffered = Buffer.concat([this.#buffered, bytes.subarray(isBefore)])
    while (this.#buffered.length >= 9) {
      const end = 9 + this.#buffered.readUIntBE(0, 3)
      if (this.#buffered.length < end) break
      const [type = 0, flags = 0] = this.#buffered.subarray(3, 5)
      const stream = this.#buffered.readUInt32BE(5)
      frames.push({ type, flags, stream, payload: this.#buffered.subarray(9, end) })
      this.#buffered = this.#buffered.subarray(end)
    }
    return frames
  }
}

/** A guest that writes frames as it likes. */
export class RawGuest implements AsyncDisposable {
  readonly socket: Socket
  readonly frames: Frame[] = []
  readonly #reader = new FrameReader()
  readonly #stop: () => Promise<void>

  private constructor(socket: Socket, stop: () => Promise<void>) {
    this.socket = socket
    this.#stop = stop
    socket.on('error', () => undefined)
    socket.on('data', (bytes) => this.frames.push(...this.#reader.read(bytes)))
  }

  static async start(egress: RuntimeEgress): Promise<RawGuest> {
    const dir = await mkdtemp(join(tmpdir(), 'holt-egress-'))
    const server = createServer((connection) => egress.accept(connection))
    server.listen(join(dir, 'egress.sock'))
    await once(server, 'listening')
    const socket = connect(join(dir, 'egress.sock'))
    await once(socket, 'connect')
    socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(frameType.settings, 0, 0)]))
    return new RawGuest(socket, async () => {
      socket.destroy()
      server.close()
      await once(server, 'close')
      await rm(dir, { recursive: true })
    })
  }

  send(...frames: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(frames))
  }

  connect(stream: number, authority: string): void {
    this.send(
      frame(frameType.headers, flag.endHeaders, stream, fields({ ':method': 'CONNECT', ':authority': authority })),
    )
  }

  /** Waits for a frame of a type on a stream. */
  async next(type: number, stream: number): Promise<Frame> {
    const find = () => this.frames.find((seen) => seen.type === type && seen.stream === stream)
    await until(() => find() !== undefined, `a frame of type ${type} on stream ${stream}`)
    return find() as Frame
  }

  /** Waits until the gateway has ended the session. */
  async ended(): Promise<void> {
    await until(() => this.socket.destroyed || this.socket.readableEnded, 'the session is over')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop()
  }
}

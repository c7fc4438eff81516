import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { type ConnectionOptions, connect } from 'node:tls'

/** The first flight of a real TLS client with these options. */
export async function captureHello(options: ConnectionOptions): Promise<Buffer> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, ...options })
  client.on('error', () => undefined)
  const [socket] = await once(server, 'connection')
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  client.destroy()
  socket.destroy()
  server.close()
  return bytes
}

const u16 = (value: number) => Buffer.from([value >> 8, value & 0xff])
const behind16 = (...parts: Buffer[]) => {
  const body = Buffer.concat(parts)
  return Buffer.concat([u16(body.length), body])
}

/** One extension. */
export function extension(type: number, data: Buffer): Buffer {
  return Buffer.concat([u16(type), behind16(data)])
}

/** The server name extension with these names. */
export function serverNames(...names: readonly (string | Buffer)[]): Buffer {
  return extension(
    0,
    behind16(...names.map((name) => Buffer.concat([Buffer.of(0), behind16(Buffer.from(name as string, 'latin1'))]))),
  )
}

/** A ClientHello of these extensions, in records of at most so many bytes. */
export function buildHello(
  extensions: readonly Buffer[],
  options: { recordBytes?: number; tail?: Buffer } = {},
): Buffer {
  const body = Buffer.concat([
    Buffer.from([3, 3]),
    Buffer.alloc(32, 7),
    Buffer.of(0),
    behind16(u16(0x1301)),
    Buffer.from([1, 0]),
    behind16(...extensions),
    options.tail ?? Buffer.alloc(0),
  ])
  const message = Buffer.concat([
    Buffer.from([1, body.length >> 16, (body.length >> 8) & 0xff, body.length & 0xff]),
    body,
  ])
  const size = options.recordBytes ?? 16_384
  const records: Buffer[] = []
  for (let offset = 0; offset < message.length; offset += size)
    records.push(Buffer.from([22, 3, 1]), behind16(message.subarray(offset, offset + size)))
  return Buffer.concat(records)
}

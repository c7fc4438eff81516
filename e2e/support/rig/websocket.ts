import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** The text that is hashed with the key of a handshake (RFC 6455, 1.3). */
const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/**
 * Agrees to a WebSocket and gives each short message back. The first one of all is `header NAME`'s
 * value where the path asks for one: `/ws?header=NAME`.
 */
export function echoWebSocket(request: IncomingMessage, socket: Socket): void {
  const key = request.headers['sec-websocket-key'] ?? ''
  const accept = createHash('sha1')
    .update(key + guid)
    .digest('base64')
  const head = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade']
  socket.on('error', () => socket.destroy())
  socket.write(`${head.join('\r\n')}\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`)
  const wanted = new URL(request.url ?? '/', 'http://host').searchParams.get('header')
  if (wanted !== null) socket.write(frameOf(1, Buffer.from(String(request.headers[wanted] ?? ''))))
  let held: Buffer = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    held = Buffer.concat([held, chunk])
    for (let frame = readFrame(held); frame !== null; frame = readFrame(held)) {
      held = held.subarray(frame.bytes)
      socket.write(frameOf(frame.opcode, frame.payload))
      if (frame.opcode === 8) socket.end()
    }
  })
}

/**
 * A whole masked frame at the beginning of `bytes`, with less than 126 bytes in it; null while it
 * is not there.
 */
function readFrame(bytes: Buffer): { opcode: number; payload: Buffer; bytes: number } | null {
  const length = (bytes[1] ?? 0) & 0x7f
  if (bytes.length < 6 + length) return null
  const mask = bytes.subarray(2, 6)
  const payload = Buffer.from(bytes.subarray(6, 6 + length).map((byte, at) => byte ^ (mask[at % 4] ?? 0)))
  return { opcode: (bytes[0] ?? 0) & 0xf, payload, bytes: 6 + length }
}

function frameOf(opcode: number, payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0x80 | opcode, payload.length]), payload])
}

// A WebSocket server (RFC 6455) that sends each message back: `node echo-server.mjs PORT`. It takes
// short messages, one in a packet. A real server uses a library, such as `ws`.
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'

const [closes, pings, pongs] = [0x88, 0x89, 0x8a]

const server = createServer((_, response) => response.end('Open a WebSocket here.\n'))
server.on('upgrade', (request, socket) => {
  const accept = createHash('sha1')
    .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64')
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  )
  socket.on('error', () => socket.destroy())
  socket.on('data', (frame) => {
    const [head, size] = frame
    const message = frame.subarray(6, 6 + (size & 0x7f)).map((byte, at) => byte ^ frame[2 + (at % 4)])
    socket.write(Buffer.concat([Buffer.from([head === pings ? pongs : head, message.length]), message]))
    if (head === closes) socket.end()
  })
})
server.listen(Number(process.argv[2]), '127.0.0.1')

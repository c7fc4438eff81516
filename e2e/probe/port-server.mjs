// A server for the tests of ports: what each path does, its name says. Its argument is the port.
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'

const port = Number(process.argv[2])
let events = null
let connections = 0

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://inside')
  if (pathname === '/upload') {
    const hash = createHash('sha256')
    let bytes = 0
    for await (const part of request) {
      hash.update(part)
      bytes += part.length
    }
    response.end(JSON.stringify({ bytes, sha256: hash.digest('hex') }))
  } else if (pathname === '/download') {
    let left = Number(searchParams.get('bytes'))
    const part = Buffer.alloc(65536, 'd')
    while (left > 0 && !response.destroyed) {
      const more = response.write(part.subarray(0, Math.min(left, part.length)))
      left -= part.length
      if (!more) await new Promise((resolve) => response.once('drain', resolve).once('close', resolve))
    }
    response.end()
  } else if (pathname === '/events') {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: open\n\n')
    events = response
  } else if (pathname === '/send') {
    events.write(`data: ${searchParams.get('text')}\n\n`)
    response.end()
  } else if (pathname === '/connections') response.end(String(connections))
  else response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers }))
})
server.on('connection', (socket) => {
  connections += 1
  socket.on('close', () => {
    connections -= 1
  })
})

// A WebSocket (RFC 6455) that sends each short text back.
server.on('upgrade', (request, socket) => {
  const accept = createHash('sha1')
    .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64')
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  )
  socket.on('error', () => socket.destroy())
  socket.on('data', (frame) => {
    if ((frame[0] & 0x0f) === 8) {
      socket.end()
      return
    }
    const length = frame[1] & 0x7f
    const mask = frame.subarray(2, 6)
    const text = Buffer.from(frame.subarray(6, 6 + length).map((byte, at) => byte ^ mask[at % 4]))
    socket.write(Buffer.concat([Buffer.from([0x81, length]), text]))
  })
})
server.listen(port, '127.0.0.1')

// The next port says hello, ends, and then tells the port after that what it was told.
let heard = ''
createTcpServer({ allowHalfOpen: true }, (socket) => {
  socket.end('hello first')
  socket.on('error', () => {
    heard = 'reset'
  })
  socket.on('data', (part) => {
    heard += part
  })
  socket.on('end', () => {
    heard += '.'
  })
}).listen(port + 1, '::1')
createTcpServer((socket) => socket.end(heard)).listen(port + 2, '::')

import type { Socket } from 'node:net'
import { drip, head, lanes, pour } from './lanes.ts'
import { handshake } from './strangers.ts'
import type { Attack, Target } from './target.ts'

const mib = 2 ** 20
const json = { 'content-type': 'application/json' }

/** The largest body that is taken: one string, one field for each few bytes, and brackets. */
const bodies = {
  text: Buffer.from(JSON.stringify({ name: 'x'.repeat(4 * mib - 100) })),
  fields: Buffer.from(`{${Array.from({ length: 300_000 }, (_, n) => `"f${n}":1`).join(',')}}`),
  brackets: Buffer.alloc(4 * mib, '['),
}

/** Sends the same request again and again over one connection, each when the answer of the one before has begun. */
function again(socket: Socket, ...request: readonly (string | Buffer)[]): void {
  const send = () => {
    for (const part of request) socket.write(part)
  }
  socket.on('data', send)
  send()
}

/** A frame of a client (RFC 6455, 5.2), which may announce more than comes. */
function frame(opcode: number, payload: Buffer, announced = payload.length): Buffer {
  const start = Buffer.alloc(14)
  start.writeUInt8(0x80 | opcode, 0)
  start.writeUInt8(0x80 | 127, 1)
  start.writeBigUInt64BE(BigInt(announced), 2)
  return Buffer.concat([start, payload]) // The mask is zero, and changes nothing.
}

/** Attaches, and says the rest once the service has agreed. */
function attached(target: Target, query: string, say: (socket: Socket) => void): (socket: Socket) => void {
  return (socket) => {
    socket.write(head(target, `GET ${target.commandPath}/attach?${query}`, handshake))
    socket.once('data', (data) => {
      if (String(data).startsWith('HTTP/1.1 101')) say(socket)
    })
  }
}

/** What a client with a key of a project of its own can do. */
export const clients = {
  'bodies that come byte by byte': (target, over) =>
    lanes(target, over, { count: 500 }, (socket) => {
      socket.write(head(target, 'POST /v1/agents/runtime', { ...json, 'content-length': 4 * mib }))
      drip(socket, ' ', 500)
    }),

  'bodies that stop before their end': (target, over) =>
    lanes(target, over, { count: 200 }, (socket) => {
      socket.write(head(target, 'POST /v1/agents/runtime', { ...json, 'content-length': 4 * mib }))
      socket.write(bodies.text.subarray(0, 3 * mib))
    }),

  'bodies without end': (target, over) =>
    lanes(target, over, { count: 20 }, (socket) => {
      socket.write(head(target, 'POST /v1/agents/runtime', { ...json, 'transfer-encoding': 'chunked' }))
      pour(socket, `10000\r\n${' '.repeat(65_536)}\r\n`)
    }),

  'JSON of one large text': (target, over) =>
    lanes(target, over, { count: 8 }, (socket) =>
      again(
        socket,
        head(target, 'POST /v1/agents/runtime', { ...json, 'content-length': bodies.text.length }),
        bodies.text,
      ),
    ),

  'JSON of very many values': (target, over) =>
    lanes(target, over, { count: 8 }, (socket) => {
      const headers = { ...json, 'content-length': bodies.fields.length }
      again(socket, head(target, 'POST /v1/agents/runtime', headers), bodies.fields)
    }),

  'JSON of brackets alone': (target, over) =>
    lanes(target, over, { count: 8 }, (socket) => {
      const headers = { ...json, 'content-length': bodies.brackets.length }
      again(socket, head(target, 'POST /v1/agents/runtime', headers), bodies.brackets)
    }),

  'requests by the thousand in one breath': (target, over) =>
    lanes(target, over, { count: 50, reads: false }, (socket) =>
      pour(socket, head(target, 'GET /v1/agents/runtime').repeat(500)),
    ),

  'uploads that stop': (target, over) =>
    lanes(target, over, { count: 100 }, (socket, index) => {
      const path = `${target.runtimePath}/files/content?path=/tmp/stopped-${index}`
      socket.write(head(target, `PUT ${path}`, { 'content-length': 2 ** 30 }))
      socket.write(Buffer.alloc(mib))
    }),

  'downloads that nobody reads': (target, over) =>
    lanes(target, over, { count: 100, reads: false }, (socket) =>
      socket.write(head(target, `GET ${target.runtimePath}/files/content?path=${target.largeFile}`)),
    ),

  'event streams that nobody reads': (target, over) =>
    lanes(target, over, { count: 200, reads: false }, (socket) =>
      socket.write(head(target, `GET ${target.commandPath}/output?follow=true`, { accept: 'text/event-stream' })),
    ),

  'clients that vanish': (target, over) =>
    lanes(target, over, { count: 50 }, (socket, index) => {
      const body = JSON.stringify({ command: 'sleep 0.1' })
      if (index % 2 === 0)
        socket.write(
          head(target, `POST ${target.runtimePath}/commands`, { ...json, 'content-length': body.length }) + body,
        )
      else socket.write(head(target, `GET ${target.commandPath}/output?follow=true`))
      setTimeout(() => socket.resetAndDestroy(), 100)
    }),

  'attachments by the hundred': (target, over) =>
    lanes(target, over, { count: 200 }, (socket) =>
      socket.write(head(target, `GET ${target.commandPath}/attach`, handshake)),
    ),

  'frames that announce more than any may have': (target, over) =>
    lanes(
      target,
      over,
      { count: 20 },
      attached(target, '', (socket) => socket.write(frame(2, Buffer.alloc(1000), 2 ** 40))),
    ),

  'frames as fast as they go': (target, over) =>
    lanes(
      target,
      over,
      { count: 8 },
      attached(target, 'write=true&takeover=true', (socket) =>
        pour(socket, frame(1, Buffer.from('{"type":"write","takeover":true}'))),
      ),
    ),

  'pings as fast as they go': (target, over) =>
    lanes(
      target,
      over,
      { count: 8 },
      attached(target, '', (socket) => pour(socket, frame(9, Buffer.alloc(100)))),
    ),

  'visits to a port': (target, over) =>
    lanes(target, over, { count: 300 }, (socket, index) => {
      socket.write(head(target, `GET ${target.proxyPath}/`))
      if (index % 2 === 0) setTimeout(() => socket.resetAndDestroy(), 50)
    }),

  'bodies to a port that nobody takes': (target, over) =>
    lanes(target, over, { count: 60 }, (socket) => {
      socket.write(head(target, `POST ${target.proxyPath}/`, { 'content-length': 2 ** 40 }))
      pour(socket, Buffer.alloc(65_536))
    }),
} as const satisfies Record<string, Attack>

import { randomBytes } from 'node:crypto'
import { drip, head, lanes, pour } from './lanes.ts'
import type { Attack } from './target.ts'

/** What can be done without a key. */
export const strangers = {
  '5,000 connections that say nothing, from ten addresses': (target, over) =>
    lanes(target, over, { count: 5_000, addresses: 10 }, () => {}),

  '3,000 connections that say nothing, from the address of everybody else': (target, over) =>
    lanes(target, over, { count: 3_000 }, () => {}),

  'headers that come byte by byte': (target, over) =>
    lanes(target, over, { count: 2_000 }, (socket) => {
      socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nX: ')
      drip(socket, 'x', 500)
    }),

  'headers without end': (target, over) =>
    lanes(target, over, { count: 50 }, (socket) => {
      socket.write('GET /healthz HTTP/1.1\r\n')
      pour(socket, 'a:b\r\n'.repeat(10_000))
    }),

  'bytes that are no HTTP': (target, over) =>
    lanes(target, over, { count: 50 }, (socket) => pour(socket, randomBytes(65_536))),

  'answers that nobody reads, asked for by the thousand in one breath': (target, over) =>
    lanes(target, over, { count: 50, reads: false }, (socket) =>
      pour(socket, 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1_000)),
    ),

  'keys that are none, as fast as they are refused': (target, over) =>
    lanes(target, over, { count: 20 }, (socket) => {
      const ask = () => socket.write(head({ key: `holt_${randomBytes(20).toString('hex')}` }, 'GET /v1/agents/runtime'))
      socket.on('data', ask)
      ask()
    }),

  'bodies behind a wrong key that never end': (target, over) =>
    lanes(target, over, { count: 50 }, (socket) => {
      const headers = { 'content-type': 'application/json', 'content-length': 2 ** 40 }
      socket.write(head({ key: 'holt_none' }, 'POST /v1/agents/runtime', headers))
      pour(socket, Buffer.alloc(65_536, 0x20))
    }),

  'upgrades without a key': (target, over) =>
    lanes(target, over, { count: 200 }, (socket) =>
      socket.write(head({ key: 'holt_none' }, `GET ${target.commandPath}/attach`, handshake)),
    ),
} as const satisfies Record<string, Attack>

/** The headers of a WebSocket handshake (RFC 6455, 4.1). */
export const handshake = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': 13,
  'sec-websocket-key': randomBytes(16).toString('base64'),
} as const

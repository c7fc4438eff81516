import { randomBytes } from 'node:crypto'
import { short } from '../length.ts'
import { drip, head, lanes, oneByteChunks, pour } from './lanes.ts'
import type { Attack } from './target.ts'

const mib = 2 ** 20

/**
 * Returns the evidence of more strangers than are accepted at once, so that some are disconnected.
 * A run at length admits all of them.
 */
const crowd = (count: number) => ({ opened: short(1_200, count), closed: 100 })

/** The answer to a client that has sent no request within 15 s. A short run ends before that. */
const late = short({}, { invalid_request: 0 })

/** The answers to clients without a key: the key is missing, or they ask too often. */
const refused = { unauthenticated: 5, rate_limited: 0 }

/** Attacks without a key. */
export const strangers = {
  '5,000 connections that say nothing, from ten addresses': {
    evidence: { least: crowd(5_000), answers: late },
    run: (target, time) => lanes(target, time, { count: 5_000, addresses: 10 }, () => {}),
  },

  '3,000 connections that say nothing, from the address of everybody else': {
    evidence: { least: crowd(3_000), answers: late },
    run: (target, time) => lanes(target, time, { count: 3_000 }, () => {}),
  },

  'headers that come byte by byte': {
    // Fewer connections than would displace each other before they have sent anything.
    evidence: { least: { opened: 900, pieces: 500 }, answers: late },
    run: (target, time) =>
      lanes(target, time, { count: 900 }, (lane) => {
        lane.socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nX: ')
        drip(lane, 'x', 500)
      }),
  },

  'headers without end': {
    evidence: { least: { opened: 60, closed: 20, bytes_sent: 5 * mib }, answers: { too_large: 1 } },
    run: (target, time) =>
      lanes(target, time, { count: 50 }, (lane) => {
        lane.socket.write('GET /healthz HTTP/1.1\r\n')
        pour(lane, 'a:b\r\n'.repeat(10_000))
      }),
  },

  'bytes that are no HTTP': {
    evidence: { least: { opened: 60, closed: 20, bytes_sent: 5 * mib }, answers: { invalid_request: 1 } },
    run: (target, time) => lanes(target, time, { count: 50 }, (lane) => pour(lane, randomBytes(65_536))),
  },

  'answers that nobody reads, asked for by the thousand in one breath': {
    evidence: { least: { opened: 60, closed: 10, bytes_sent: mib }, answers: { 200: 1 } },
    run: (target, time) =>
      lanes(target, time, { count: 50, reads: false, asksFirst: [description] }, (lane) =>
        pour(lane, description.repeat(1_000)),
      ),
  },

  'bodies of one-byte chunks behind answers that nobody reads': {
    evidence: { least: { opened: 100, bytes_sent: 10 * mib }, answers: { 200: 1 } },
    run: (target, time) =>
      lanes(target, time, { count: 100, reads: false, asksFirst: [description] }, (lane) => {
        const start = 'POST /v1/agents/runtime HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n'
        lane.socket.write(description.repeat(20) + start)
        pour(lane, oneByteChunks(65_536))
      }),
  },

  'keys that are none, as fast as they are refused': {
    evidence: { least: { opened: 20 }, answers: { unauthenticated: 20, rate_limited: 1 } },
    run: (target, time) =>
      lanes(target, time, { count: 20 }, ({ socket }) => {
        const ask = () =>
          socket.write(head({ key: `holt_${randomBytes(20).toString('hex')}` }, 'GET /v1/agents/runtime'))
        socket.on('data', ask)
        ask()
      }),
  },

  'bodies behind a wrong key that never end': {
    evidence: { least: { opened: 50, bytes_sent: 10 * mib }, answers: refused },
    run: (target, time) =>
      lanes(target, time, { count: 50 }, (lane) => {
        const headers = { 'content-type': 'application/json', 'content-length': 2 ** 40 }
        lane.socket.write(head({ key: 'holt_none' }, 'POST /v1/agents/runtime', headers))
        pour(lane, Buffer.alloc(65_536, 0x20))
      }),
  },

  'upgrades without a key': {
    evidence: { least: { opened: 200, closed: 50 }, answers: refused },
    run: (target, time) =>
      lanes(target, time, { count: 200 }, ({ socket }) =>
        socket.write(head({ key: 'holt_none' }, `GET ${target.commandPath}/attach`, handshake)),
      ),
  },
} as const satisfies Record<string, Attack>

/** A request that needs no key and has a large answer. */
const description = 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'

/** The headers of a WebSocket handshake (RFC 6455, 4.1). */
export const handshake = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': 13,
  'sec-websocket-key': randomBytes(16).toString('base64'),
} as const

import { drip, head, type Lane, lanes, oneByteChunks, pour } from './lanes.ts'
import { handshake } from './strangers.ts'
import type { Attack, Evidence } from './target.ts'

const mib = 2 ** 20
const json = { 'content-type': 'application/json' }

/** Returns a list of the same value. */
const many = <Value>(count: number, value: Value) => Array<Value>(count).fill(value)

/** The largest accepted bodies, and those that take longest to parse or to validate. */
const bodies = {
  text: Buffer.from(JSON.stringify({ name: 'x'.repeat(4 * mib - 100) })),
  fields: Buffer.from(`{${Array.from({ length: 300_000 }, (_, n) => `"f${n}":1`).join(',')}}`),
  brackets: Buffer.alloc(4 * mib, '['),
  escapes: Buffer.from(JSON.stringify({ name: '"'.repeat(2 * mib - 50) })),
  spaces: Buffer.from(`{${' \n'.repeat(2 * mib - 50)}"name":1}`),
  wrong: Buffer.from(
    JSON.stringify({
      network_policy: {
        allow: many(250, { host: '', ports: many(64, 0), paths: many(64, ''), methods: many(16, '') }),
      },
    }),
  ),
}

/** Bytes that begin as gzip does (RFC 1952), followed by invalid data. */
const brokenGzip = Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0]), Buffer.alloc(mib, 0xff)])

/** Lists whose filters exclude every entry that is read, and one long list. */
const costly = [
  '/v1/agents/audit?subject=none',
  '/v1/agents/event?type=build.ready',
  '/v1/agents/runtime?metadata.none=1',
  '/v1/agents/event?limit=100',
]

/** Answers to a project that exceeds its rate limit or quota. */
const limited = { rate_limited: 0, quota_exceeded: 0 }

/** Repeats a request over one connection. Each is sent once the previous answer has begun. */
function again({ socket, note }: Lane, ...request: readonly (string | Buffer)[]): void {
  const send = () => {
    note()
    for (const part of request) socket.write(part)
  }
  socket.on('data', send)
  send()
}

/**
 * Returns a frame of a client (RFC 6455, 5.2). It may announce more bytes than it has, and may be
 * one of several fragments. The mask is zero and changes nothing. A control frame has at most 125
 * bytes.
 */
function frame(opcode: number, payload: Buffer, { announced = payload.length, fin = true } = {}): Buffer {
  const isShort = announced <= 125
  const start = Buffer.alloc(isShort ? 6 : 14)
  start.writeUInt8((fin ? 0x80 : 0) | opcode, 0)
  start.writeUInt8(0x80 | (isShort ? announced : 127), 1)
  if (!isShort) start.writeBigUInt64BE(BigInt(announced), 2)
  return Buffer.concat([start, payload])
}

/** Returns the same bytes a thousand times. */
function thousandOf(bytes: Buffer): Buffer {
  return Buffer.concat(Array<Buffer>(1_000).fill(bytes))
}

/** Attaches `count` times, and calls `say` after the service has accepted. */
function attach(count: number, query: string, say: (lane: Lane) => void): Attack['run'] {
  return (target, time) =>
    lanes(target, time, { count }, (lane) => {
      const { socket } = lane
      socket.write(head(target, `GET ${target.commandPath}/attach?${query}`, handshake))
      socket.once('data', (data) => {
        if (String(data).startsWith('HTTP/1.1 101')) say(lane)
      })
    })
}

/** Attaches and repeats a message, but reads no answers. */
function deaf(said: Buffer, pieces = 1_000): Attack {
  const thousand = thousandOf(said)
  return {
    evidence: { least: { opened: 32, pieces }, answers: { 101: 16, ...limited } },
    run: (target, time) =>
      lanes(target, time, { count: 32, reads: false }, (lane) => {
        lane.socket.write(head(target, `GET ${target.commandPath}/attach`, handshake))
        pour(lane, thousand)
      }),
  }
}

/** Repeatedly sends JSON for a new runtime. */
function askFor(body: Buffer, evidence: Evidence): Attack {
  return {
    evidence,
    run: (target, time) =>
      lanes(target, time, { count: 8 }, (lane) => {
        const headers = { ...json, 'content-length': body.length }
        again(lane, head(target, 'POST /v1/agents/runtime', headers), body)
      }),
  }
}

/** Attacks of a client with a key of its own project. */
export const clients = {
  'bodies that come byte by byte': {
    evidence: { least: { opened: 500, pieces: 500 } },
    run: (target, time) =>
      lanes(target, time, { count: 500 }, (lane) => {
        lane.socket.write(head(target, 'POST /v1/agents/runtime', { ...json, 'content-length': 4 * mib }))
        drip(lane, ' ', 500)
      }),
  },

  'bodies that stop before their end': {
    evidence: { least: { opened: 200, bytes_sent: 100 * mib }, answers: { rate_limited: 10 } },
    run: (target, time) =>
      lanes(target, time, { count: 200 }, ({ socket }) => {
        socket.write(head(target, 'POST /v1/agents/runtime', { ...json, 'content-length': 4 * mib }))
        socket.write(bodies.text.subarray(0, 3 * mib))
      }),
  },

  'bodies without end': {
    evidence: { least: { opened: 20, bytes_sent: 80 * mib }, answers: { too_large: 5, ...limited } },
    run: (target, time) =>
      lanes(target, time, { count: 20 }, (lane) => {
        lane.socket.write(head(target, 'POST /v1/agents/runtime', { ...json, 'transfer-encoding': 'chunked' }))
        pour(lane, `10000\r\n${' '.repeat(65_536)}\r\n`)
      }),
  },

  'bodies of one-byte chunks': {
    // A slow machine parses only a few of them per second.
    evidence: { least: { opened: 16, bytes_sent: mib }, answers: { invalid_request: 1, ...limited } },
    run: (target, time) => {
      const start = head(target, 'POST /v1/agents/runtime', { ...json, 'transfer-encoding': 'chunked' })
      return lanes(target, time, { count: 16 }, (lane) => again(lane, start, oneByteChunks(16_384), '0\r\n\r\n'))
    },
  },

  'JSON of one large text': askFor(bodies.text, {
    least: { opened: 8, bytes_sent: 16 * mib },
    answers: { invalid_request: 2 },
  }),

  'JSON of very many values': askFor(bodies.fields, {
    least: { opened: 8, bytes_sent: 8 * mib },
    answers: { invalid_request: 2 },
  }),

  'JSON of brackets alone': askFor(bodies.brackets, {
    least: { opened: 8, bytes_sent: 16 * mib },
    answers: { invalid_request: 2 },
  }),

  'JSON of one text of escapes': askFor(bodies.escapes, {
    least: { opened: 8, bytes_sent: 16 * mib },
    answers: { invalid_request: 2 },
  }),

  'JSON of spaces and lines': askFor(bodies.spaces, {
    least: { opened: 8, bytes_sent: 16 * mib },
    answers: { invalid_request: 2 },
  }),

  'JSON of as many wrong values as are checked': askFor(bodies.wrong, {
    least: { opened: 8, bytes_sent: mib },
    answers: { invalid_request: 2 },
  }),

  'requests by the thousand in one breath': {
    evidence: { least: { opened: 60, closed: 10, bytes_sent: mib }, answers: { 200: 1 } },
    run: (target, time) => {
      const request = head(target, 'GET /v1/agents/runtime')
      return lanes(target, time, { count: 50, reads: false, asksFirst: [request] }, (lane) =>
        pour(lane, request.repeat(500)),
      )
    },
  },

  'archives that are none': {
    evidence: { least: { opened: 8, bytes_sent: 8 * mib }, answers: { invalid_archive: 2, ...limited } },
    run: (target, time) =>
      lanes(target, time, { count: 8 }, (lane) => {
        const headers = { 'content-length': brokenGzip.length }
        again(lane, head(target, 'POST /v1/agents/template/context', headers), brokenGzip)
      }),
  },

  'uploads that stop': {
    evidence: { least: { opened: 100, bytes_sent: 50 * mib } },
    run: (target, time) =>
      lanes(target, time, { count: 100 }, ({ socket, index }) => {
        const path = `${target.runtimePath}/files/content?path=/tmp/stopped-${index}`
        socket.write(head(target, `PUT ${path}`, { 'content-length': 2 ** 30 }))
        socket.write(Buffer.alloc(mib))
      }),
  },

  'downloads that nobody reads': {
    evidence: { least: { opened: 100 }, answers: { 200: 10 } },
    run: (target, time) =>
      lanes(target, time, { count: 100, reads: false }, ({ socket }) =>
        socket.write(head(target, `GET ${target.runtimePath}/files/content?path=${target.largeFile}`)),
      ),
  },

  'event streams that nobody reads': {
    evidence: { least: { opened: 200 }, answers: { 200: 10 } },
    run: (target, time) =>
      lanes(target, time, { count: 200, reads: false }, ({ socket }) =>
        socket.write(head(target, `GET ${target.commandPath}/output?follow=true`, { accept: 'text/event-stream' })),
      ),
  },

  'lists that look at much': {
    evidence: { least: { opened: 200, pieces: 200 }, answers: { 200: 50, ...limited } },
    run: (target, time) =>
      lanes(target, time, { count: 200 }, (lane) =>
        again(lane, head(target, `GET ${costly[lane.index % costly.length]}`)),
      ),
  },

  'followers of the event log that nobody reads': {
    evidence: { least: { opened: 300, pieces: 20 }, answers: { 200: 100, quota_exceeded: 20, rate_limited: 0 } },
    run: (target, time) => {
      const body = JSON.stringify({ metadata: { note: 'x'.repeat(900) } })
      const change = head(target, `PATCH ${target.runtimePath}`, { ...json, 'content-length': body.length })
      return lanes(target, time, { count: 300, reads: false }, (lane) => {
        const { socket, index } = lane
        if (index >= 10) return void socket.write(head(target, 'GET /v1/agents/event?follow=true'))
        again(lane, change + body)
        socket.resume()
      })
    },
  },

  'answers given once more that nobody reads': {
    evidence: { least: { opened: 200, pieces: 200 }, answers: { 200: 20, ...limited, idempotency_in_progress: 0 } },
    run: (target, time) => {
      const body = JSON.stringify({ command: 'head -c 900000 /dev/zero | tr "\\0" x', max_output_bytes: 900_000 })
      const requests = Array.from({ length: 20 }, (_, index) => {
        const headers = { ...json, 'content-length': body.length, 'idempotency-key': `again-${Date.now()}-${index}` }
        return head(target, `POST ${target.runtimePath}/commands`, headers) + body
      })
      return lanes(target, time, { count: 200, reads: false, asksFirst: requests }, ({ socket, index, note }) => {
        for (let count = 0; count < 8; count += 1) {
          note()
          socket.write(requests[(index + count) % requests.length] ?? '')
        }
      })
    },
  },

  'clients that vanish': {
    evidence: { least: { opened: 100, closed: 50 }, answers: { 200: 2 } },
    run: (target, time) => {
      const body = JSON.stringify({ command: 'sleep 0.1' })
      const requests = [
        head(target, `POST ${target.runtimePath}/commands`, { ...json, 'content-length': body.length }) + body,
        head(target, `GET ${target.commandPath}/output?follow=true`),
      ] as const
      return lanes(target, time, { count: 50, asksFirst: requests }, ({ socket, index }) => {
        socket.write(requests[index % 2 === 0 ? 0 : 1])
        setTimeout(() => socket.resetAndDestroy(), 100)
      })
    },
  },

  'attachments by the hundred': {
    evidence: { least: { opened: 200 }, answers: { 101: 10, ...limited } },
    run: (target, time) =>
      lanes(target, time, { count: 200 }, ({ socket }) =>
        socket.write(head(target, `GET ${target.commandPath}/attach`, handshake)),
      ),
  },

  'frames that announce more than any may have': {
    evidence: { least: { opened: 25, closed: 5, pieces: 10 }, answers: { 101: 10 } },
    run: attach(20, '', ({ socket, note }) => {
      note()
      socket.write(frame(2, Buffer.alloc(1000), { announced: 2 ** 40 }))
    }),
  },

  'frames as fast as they go': {
    evidence: { least: { opened: 16, pieces: 1_000 }, answers: { 101: 8, ...limited } },
    run: attach(16, 'write=true&takeover=true', (lane) =>
      pour(lane, frame(1, Buffer.from('{"type":"write","takeover":true}'))),
    ),
  },

  'frames whose answers nobody reads': deaf(frame(1, Buffer.from('{"type":"write"}'))),

  'pings as fast as they go': {
    evidence: { least: { opened: 40, closed: 8, pieces: 32 }, answers: { 101: 32, ...limited } },
    run: attach(32, '', (lane) => pour(lane, thousandOf(frame(9, Buffer.alloc(100))))),
  },

  'pongs that nobody asked for': {
    evidence: { least: { opened: 40, closed: 8, pieces: 32 }, answers: { 101: 32, ...limited } },
    run: attach(32, '', (lane) => pour(lane, thousandOf(frame(10, Buffer.alloc(0))))),
  },

  'fragments of one message without end': {
    evidence: { least: { opened: 40, closed: 8, pieces: 32 }, answers: { 101: 32, ...limited } },
    run: attach(32, '', (lane) => {
      lane.socket.write(frame(2, Buffer.alloc(0), { fin: false }))
      pour(lane, thousandOf(frame(0, Buffer.alloc(0), { fin: false })))
    }),
  },

  'attachments that break off at once': {
    evidence: { least: { opened: 64, closed: 32 }, answers: { 101: 32, ...limited } },
    run: attach(32, '', ({ socket, note }) => {
      note()
      socket.resetAndDestroy()
    }),
  },

  'pings whose answers nobody reads': deaf(frame(9, Buffer.alloc(100)), 500),

  'visits to a port': {
    // The program accepts few connections at a time.
    evidence: { least: { opened: 300, closed: 150 }, answers: { 200: 10, port_not_listening: 0, ...limited } },
    run: (target, time) =>
      lanes(target, time, { count: 300 }, ({ socket, index }) => {
        socket.write(head(target, `GET ${target.proxyPath}/`))
        if (index % 2 === 0) setTimeout(() => socket.resetAndDestroy(), 50)
      }),
  },

  'bodies to a port that nobody takes': {
    // The program accepts few connections at a time.
    evidence: { least: { opened: 60, bytes_sent: 4 * mib }, answers: { 501: 1, port_not_listening: 0, ...limited } },
    run: (target, time) =>
      lanes(target, time, { count: 60 }, (lane) => {
        lane.socket.write(head(target, `POST ${target.proxyPath}/`, { 'content-length': 2 ** 40 }))
        pour(lane, Buffer.alloc(65_536))
      }),
  },
} as const satisfies Record<string, Attack>

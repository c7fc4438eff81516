import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { Command } from '@holt/protocol'
import { beforeAll, describe, expect, it } from 'vitest'
import { call, success } from '../e2e/support/api.ts'
import { service } from '../e2e/support/facts.ts'
import { createRuntime, type TestRuntime } from '../e2e/support/test-runtime.ts'
import { until } from '../e2e/support/until.ts'

/** The service answers or hangs up at once; what it does not is a hang. */
const exchangeMs = 20_000

const port = 8101
const hidden = 'GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n'

/** Requests that two parsers could divide differently: each seems to contain a hidden request. */
const shapes: readonly (readonly [what: string, fields: readonly string[], body: string])[] = [
  [
    'a length, then chunks',
    [`Content-Length: ${5 + hidden.length}`, 'Transfer-Encoding: chunked'],
    `0\r\n\r\n${hidden}`,
  ],
  ['chunks, then a length', ['Transfer-Encoding: chunked', 'Content-Length: 4'], `2\r\nab\r\n0\r\n\r\n${hidden}`],
  ['two lengths', ['Content-Length: 2', `Content-Length: ${2 + hidden.length}`], `{}${hidden}`],
  ['a list of lengths', [`Content-Length: 2, ${2 + hidden.length}`], `{}${hidden}`],
  ['a length with a sign', ['Content-Length: +2'], `{}${hidden}`],
  ['a length in hexadecimal', ['Content-Length: 0x2'], `{}${hidden}`],
  ['a length with spaces within', ['Content-Length: 2 2'], `{}${hidden}`],
  ['a length below zero', ['Content-Length: -1'], hidden],
  ['a length that is too long for a number', [`Content-Length: ${'9'.repeat(40)}`], hidden],
  ['chunks by another name', ['Transfer-Encoding: xchunked'], `0\r\n\r\n${hidden}`],
  ['chunks within something', ['Transfer-Encoding: gzip, chunked'], `0\r\n\r\n${hidden}`],
  ['chunks before something', ['Transfer-Encoding: chunked, identity'], `0\r\n\r\n${hidden}`],
  ['chunks twice', ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], `0\r\n\r\n${hidden}`],
  ['chunks after a tab and a line break', ['Transfer-Encoding:\n chunked'], `0\r\n\r\n${hidden}`],
  ['a space before the colon', ['Transfer-Encoding : chunked'], `0\r\n\r\n${hidden}`],
  ['a field that is folded', ['X: y', ' Content-Length: 2'], `{}${hidden}`],
  [
    'a chunk whose size is too large for a number',
    ['Transfer-Encoding: chunked'],
    `${'f'.repeat(17)}\r\n{}\r\n0\r\n\r\n${hidden}`,
  ],
  ['a chunk whose size has a sign', ['Transfer-Encoding: chunked'], `+2\r\n{}\r\n0\r\n\r\n${hidden}`],
  ['a chunk that ends in a line feed alone', ['Transfer-Encoding: chunked'], `2\n{}\n0\n\n${hidden}`],
  ['an extension of a chunk with a line feed', ['Transfer-Encoding: chunked'], `2;a\nb\r\n{}\r\n0\r\n\r\n${hidden}`],
  ['a field that ends in a carriage return alone', ['X: y\rContent-Length: 2'], `{}${hidden}`],
  ['a field with NUL', ['X: y\0Content-Length: 2'], `{}${hidden}`],
]

/** Writes bytes, and answers all that comes back until the service closes. */
async function exchange(bytes: string): Promise<string> {
  const socket = connect(service.port, '127.0.0.1')
  socket.setTimeout(exchangeMs, () => socket.destroy(new Error('the service neither answers nor hangs up')))
  socket.write(Buffer.from(bytes, 'latin1'))
  return (await buffer(socket)).toString('latin1')
}

const requestOf = (line: string, fields: readonly string[], body: string) =>
  `${[`${line} HTTP/1.1`, 'Host: localhost', `Authorization: Bearer ${service.key}`, 'Content-Type: application/json', ...fields].join('\r\n')}\r\n\r\n${body}`

const answersIn = (text: string) => [...text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status))

describe('a request with', () => {
  it.each(shapes)(
    '%s is refused, and nothing after it is read',
    async (_, fields, body) => {
      const text = await exchange(requestOf('POST /v1/agents/runtime', fields, body))
      expect(answersIn(text)).toHaveLength(1)
      expect(answersIn(text)[0]).toBeGreaterThanOrEqual(400)
      expect(answersIn(text)[0]).toBeLessThan(500)
      expect(text).not.toContain('route_not_found')
      expect((await call('GET', '/healthz', { key: null })).status).toBe(200)
    },
    60_000,
  )
})

// Answers everything in HTTP, and writes down each byte that it was sent.
const program = `
import socket, threading
listener = socket.socket(); listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(('127.0.0.1', ${port})); listener.listen(64)
def serve(s):
    s.settimeout(2)
    try:
        while True:
            data = s.recv(65536)
            if not data: break
            open('/tmp/seen', 'ab').write(data)
            s.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok')
    except OSError: pass
    s.close()
while True: threading.Thread(target=serve, args=(listener.accept()[0],)).start()`

describe('through a port, a request with', () => {
  let runtime: TestRuntime
  beforeAll(async () => {
    runtime = await createRuntime()
    const json = { argv: ['python', '-c', program], user: 'root', background: true }
    success(await runtime.call('POST', '/commands', { json }), 201, Command)
    await until('the program answers', async () => (await runtime.call('GET', `/ports/${port}/proxy/`)).status === 200)
  })

  it.each(shapes)(
    '%s reaches the program as one request, or not at all',
    async (_, fields, body) => {
      await runtime.sh(': > /tmp/seen')
      await exchange(
        requestOf(`POST ${runtime.path}/ports/${port}/proxy/shown`, [...fields, 'Connection: close'], body),
      ).catch(() => '')
      const seen = await runtime.sh('cat /tmp/seen')
      expect(seen).not.toMatch(/^GET \/hidden/m)
      expect(seen.match(/^POST /gm)?.length ?? 0).toBeLessThanOrEqual(1)
    },
    60_000,
  )
})

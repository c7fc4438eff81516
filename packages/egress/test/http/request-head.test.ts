import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readRequestHead, writeRequestHead } from '../../src/http/request-head.ts'
import { readResponseStart } from '../../src/http/response-start.ts'

const read = (...lines: string[]) => readRequestHead(Buffer.from(lines.join('\r\n'), 'latin1'))

describe('a request head', () => {
  test('is parsed', () => {
    expect(read('GET /a?b=c HTTP/1.1', 'Host: example.com', 'X-Y:  z ')).toEqual({
      type: 'request',
      method: 'GET',
      target: '/a?b=c',
      path: '/a',
      version: '1.1',
      host: 'example.com',
      headers: [{ name: 'X-Y', value: 'z' }],
      body: { type: 'length', bytes: 0 },
      wantsWebSocket: false,
    })
  })

  test.each([
    ['http://example.com/a', '/a'],
    ['http://EXAMPLE.com', '/'],
    ['HTTP://example.com?q', '/?q'],
  ])('in absolute form %s becomes %s', (target, origin) => {
    expect(read(`GET ${target} HTTP/1.1`, 'Host: example.com')).toMatchObject({ target: origin, host: 'example.com' })
  })

  test.each([
    ['no Host', ['GET / HTTP/1.1']],
    ['two Hosts', ['GET / HTTP/1.1', 'Host: a.example', 'Host: a.example']],
    ['two Hosts in other letters', ['GET / HTTP/1.1', 'Host: a.example', 'hOST: b.example']],
    ['a Host that is not the target', ['GET http://b.example/ HTTP/1.1', 'Host: a.example']],
    ['a user in the target', ['GET http://a.example@b.example/ HTTP/1.1', 'Host: b.example']],
    ['https as a target', ['GET https://a.example/ HTTP/1.1', 'Host: a.example']],
    ['an authority as a target', ['CONNECT a.example:443 HTTP/1.1', 'Host: a.example']],
    ['CONNECT of a path', ['CONNECT /x HTTP/1.1', 'Host: a.example']],
    ['a star for GET', ['GET * HTTP/1.1', 'Host: a.example']],
    ['a relative target', ['GET x HTTP/1.1', 'Host: a.example']],
    ['a fragment', ['GET /#x HTTP/1.1', 'Host: a.example']],
    ['a folded line', ['GET / HTTP/1.1', 'Host: a.example', 'X: y', ' z']],
    ['a folded Host', ['GET / HTTP/1.1', 'Host:', ' a.example']],
    ['a space before the colon', ['GET / HTTP/1.1', 'Host : a.example']],
    ['a space before the name', ['GET / HTTP/1.1', ' Host: a.example', 'Host: b.example']],
    ['no name', ['GET / HTTP/1.1', 'Host: a.example', ': x']],
    ['no colon', ['GET / HTTP/1.1', 'Host: a.example', 'X']],
    ['a bare LF', ['GET / HTTP/1.1', 'Host: a.example\nHost: b.example']],
    ['a bare CR', ['GET / HTTP/1.1', 'Host: a.example\rHost: b.example']],
    ['a NUL', ['GET / HTTP/1.1', 'Host: a.example\0.b.example']],
    ['another control character', ['GET / HTTP/1.1', 'Host: a.example', 'X: \x7f']],
    [
      'a length beside chunks',
      ['POST / HTTP/1.1', 'Host: a.example', 'Content-Length: 3', 'Transfer-Encoding: chunked'],
    ],
    ['two lengths', ['POST / HTTP/1.1', 'Host: a.example', 'Content-Length: 3', 'Content-Length: 3']],
    ['a list of lengths', ['POST / HTTP/1.1', 'Host: a.example', 'Content-Length: 3, 3']],
    ['a signed length', ['POST / HTTP/1.1', 'Host: a.example', 'Content-Length: +3']],
    ['a hexadecimal length', ['POST / HTTP/1.1', 'Host: a.example', 'Content-Length: 0x3']],
    ['an empty length', ['POST / HTTP/1.1', 'Host: a.example', 'Content-Length:']],
    ['a huge length', ['POST / HTTP/1.1', 'Host: a.example', 'Content-Length: 9999999999999999']],
    ['another coding', ['POST / HTTP/1.1', 'Host: a.example', 'Transfer-Encoding: gzip, chunked']],
    [
      'chunks twice',
      ['POST / HTTP/1.1', 'Host: a.example', 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'],
    ],
    ['a coding that looks like chunks', ['POST / HTTP/1.1', 'Host: a.example', 'Transfer-Encoding: chunked, identity']],
    ['chunks behind a control character', ['POST / HTTP/1.1', 'Host: a.example', 'Transfer-Encoding: \x0bchunked']],
    ['chunks in HTTP/1.0', ['POST / HTTP/1.0', 'Host: a.example', 'Transfer-Encoding: chunked']],
    [
      'a Connection that drops the length',
      ['POST / HTTP/1.1', 'Host: a.example', 'Content-Length: 3', 'Connection: close, Content-Length'],
    ],
    ['a Connection that drops Host', ['GET / HTTP/1.1', 'Host: a.example', 'Connection: host']],
    ['HTTP/2', ['PRI * HTTP/2.0', '']],
    ['HTTP/0.9', ['GET /']],
    ['two spaces', ['GET  / HTTP/1.1', 'Host: a.example']],
    ['a tab', ['GET\t/ HTTP/1.1', 'Host: a.example']],
    ['a method in small letters', ['get / HTTP/1.1', 'Host: a.example']],
    ['bytes above ASCII in the target', ['GET /\xfc HTTP/1.1', 'Host: a.example']],
    ['TLS', ['\x16\x03\x01']],
    ['too many fields', ['GET / HTTP/1.1', 'Host: a.example', ...Array.from({ length: 101 }, (_, i) => `X${i}: y`)]],
  ])('is refused with %s', (_, lines) => {
    expect(read(...lines).type).toBe('bad')
  })

  test.each([
    [['Upgrade: websocket', 'Connection: keep-alive, Upgrade'], true, ['Upgrade', 'Connection']],
    [['Upgrade: h2c', 'HTTP2-Settings: AAMAAABk', 'Connection: Upgrade, HTTP2-Settings'], false, []],
    [['Upgrade: websocket, h2c', 'Connection: Upgrade, close'], false, ['Connection']],
    [['Upgrade: websocket'], false, []],
    [['Upgrade: TLS/1.2', 'Connection: upgrade'], false, []],
  ])('with %j asks for WebSocket: %s', (fields, wants, kept) => {
    const head = read('GET / HTTP/1.1', 'Host: a.example', ...fields)
    if (head.type === 'bad') throw new Error(head.why)
    expect(head.wantsWebSocket).toBe(wants)
    expect(head.headers.map(({ name }) => name)).toEqual(kept)
  })

  test('is written so that it is parsed as the same', () => {
    const line = fc.constantFrom(
      'Host: a.example',
      'Host: b.example',
      'Content-Length: 3',
      'Transfer-Encoding: chunked',
      'Connection: close',
      'X: y',
      ' folded',
      'X : y',
      'Upgrade: websocket',
      'Connection: Upgrade',
      'A: b\nHost: c.example',
      'A:\tb\t',
      'Transfer-encoding : x',
      '',
    )
    const first = fc.constantFrom(
      'GET / HTTP/1.1',
      'POST /a?b HTTP/1.1',
      'GET http://a.example/x HTTP/1.1',
      'OPTIONS * HTTP/1.1',
      'GET / HTTP/1.0',
    )
    fc.assert(
      fc.property(first, fc.array(fc.oneof(line, fc.string({ maxLength: 12 })), { maxLength: 6 }), (start, lines) => {
        const head = read(start, 'Host: a.example', ...lines)
        if (head.type === 'bad') return
        const written = writeRequestHead(head, head.host)
        const text = written.toString('latin1')
        expect(text.endsWith('\r\n\r\n')).toBe(true)
        expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n\0]/)
        expect(readRequestHead(written.subarray(0, -4))).toEqual(head)
      }),
      { numRuns: 3000 },
    )
  })

  test('takes as long with blanks in a value as with letters', () => {
    const fastest = ['x', ' ', '\t'].map((filler) => {
      const head = Buffer.from(`GET / HTTP/1.1\r\nHost: a.example\r\nX-Y: a${filler.repeat(30_000)}b`)
      const rounds = Array.from({ length: 10 }, () => {
        const started = performance.now()
        const { type } = readRequestHead(head)
        const tookMs = performance.now() - started
        expect(type).toBe('request')
        return tookMs
      })
      return Math.min(...rounds)
    })
    // The expression that was here before took a thousand times as long.
    expect(Math.max(...fastest.slice(1)) / (fastest[0] ?? 0)).toBeLessThan(50)
  })

  test('of any bytes never throws', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => readRequestHead(Buffer.from(bytes)).type !== undefined),
      { numRuns: 2000 },
    )
  })
})

describe('the answer to an offer', () => {
  test.each([
    ['HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nbytes', 'switched'],
    ['HTTP/1.1 101\r\n\r\n', 'switched'],
    ['HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 Switching\r\n\r\n', 'switched'],
    ['HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\nHTTP/1.1 101 x\r\n\r\n', 'stayed'],
    ['HTTP/1.1 200 OK\r\n\r\n', 'stayed'],
    ['HTTP/1.1 1010 x\r\n\r\n', 'stayed'],
    ['HTTP/1.0 101 x\r\n\r\n', 'stayed'],
    ['junk\r\n\r\n', 'stayed'],
    ['HTTP/1.1 101 Switching\r\n', 'incomplete'],
    ['HTTP/1.1 100 Continue\r\n\r\n', 'incomplete'],
  ])('%j: %s', (text, type) => {
    expect(readResponseStart(Buffer.from(text)).type).toBe(type)
  })
})

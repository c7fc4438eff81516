import { once } from 'node:events'
import {
  type ClientHttp2Session,
  constants,
  createSecureServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { hostName, makePassage, type Passage, secretOf, upstreamContext } from './harness.ts'

const real = 'sk-the-real-value-0123456789'
const placeholder = 'holt-placeholder-abcdef'

type Answer = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void

async function passageTo(answer: Answer): Promise<{ passage: Passage; arrived: IncomingHttpHeaders[] }> {
  const { ca, context } = await upstreamContext()
  const arrived: IncomingHttpHeaders[] = []
  const server = createSecureServer({ SNICallback: (_name, done) => done(null, context) })
  server.on('stream', (stream, headers) => {
    arrived.push(headers)
    stream.on('error', () => {})
    answer(stream, headers)
  })
  const sessions = new Set<{ destroy(): void }>()
  server.on('session', (session) => sessions.add(session))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const session of sessions) session.destroy()
    server.close()
  })
  const passage = await makePassage({ port: (server.address() as AddressInfo).port, caPem: ca.certificatePem })
  return { passage, arrived }
}

interface Got {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly trailers: IncomingHttpHeaders
  readonly rstCode: number
}

async function ask(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body = '',
  trailers?: OutgoingHttpHeaders,
): Promise<Got> {
  const hasBody = body !== '' || trailers !== undefined
  const stream = session.request(
    { ':authority': hostName, ...headers },
    { endStream: !hasBody, waitForTrailers: trailers !== undefined },
  )
  if (trailers !== undefined) stream.on('wantTrailers', () => stream.sendTrailers(trailers))
  if (hasBody) stream.end(body)
  let got: IncomingHttpHeaders = {}
  let gotTrailers: IncomingHttpHeaders = {}
  let text = ''
  stream.on('error', () => {})
  stream.on('response', (received) => {
    got = received
  })
  stream.on('trailers', (received) => {
    gotTrailers = received
  })
  stream.setEncoding('latin1').on('data', (part: string) => {
    text += part
  })
  await new Promise<void>((resolve) => stream.once('close', () => resolve()))
  return { headers: got, body: text, trailers: gotTrailers, rstCode: stream.rstCode }
}

const ok: Answer = (stream, headers) => {
  stream.respond({ ':status': 200, 'x-path': headers[':path'] })
  stream.end('hello')
}

describe('HTTP/2 inside TLS that the gateway ends', () => {
  test('passes concurrent requests over one upstream connection', async () => {
    const { passage, arrived } = await passageTo(ok)
    const session = await passage.enterHttp2()
    const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => ask(session, { ':path': `/${at}` })))
    expect(answers.map(({ headers }) => headers['x-path'])).toEqual(answers.map((_, at) => `/${at}`))
    expect(arrived).toHaveLength(20)
    expect(passage.dialled.count).toBe(1)
  })

  test('carries trailers both ways, as gRPC needs', async () => {
    let received: IncomingHttpHeaders = {}
    const { passage } = await passageTo((stream) => {
      stream.on('trailers', (trailers) => {
        received = trailers
      })
      stream.resume().once('end', () => {
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
        stream.respond({ ':status': 200 }, { waitForTrailers: true })
        stream.end('answer')
      })
    })
    const { body, trailers } = await ask(
      await passage.enterHttp2(),
      { ':method': 'POST', ':path': '/rpc', te: 'trailers' },
      'request',
      { 'x-sum': '1' },
    )
    expect(body).toBe('answer')
    expect(trailers['grpc-status']).toBe('0')
    expect(received['x-sum']).toBe('1')
  })

  test('an answer of only trailers passes', async () => {
    const { passage } = await passageTo((stream) =>
      stream.respond({ ':status': 200, 'grpc-status': '5' }, { endStream: true }),
    )
    const { headers, rstCode } = await ask(await passage.enterHttp2(), { ':method': 'POST', ':path': '/rpc' }, 'x')
    expect(headers['grpc-status']).toBe('5')
    expect(rstCode).toBe(constants.NGHTTP2_NO_ERROR)
  })

  test('streams both ways at once', async () => {
    const { passage } = await passageTo((stream) => {
      stream.respond({ ':status': 200 })
      stream.pipe(stream)
    })
    const session = await passage.enterHttp2()
    const stream = session.request({ ':authority': hostName, ':method': 'POST', ':path': '/' })
    for (const word of ['one', 'two', 'three']) {
      stream.write(word)
      const [part] = (await once(stream, 'data')) as [Buffer]
      expect(part.toString()).toBe(word)
    }
    stream.end()
    await once(stream, 'close')
  })

  test('a body of 16 MiB arrives completely', async () => {
    let bytes = 0
    const { passage } = await passageTo((stream) => {
      stream.on('data', (part: Buffer) => {
        bytes += part.length
      })
      stream.once('end', () => {
        stream.respond({ ':status': 200 })
        stream.end()
      })
    })
    await ask(await passage.enterHttp2(), { ':method': 'PUT', ':path': '/' }, 'x'.repeat(16 * 2 ** 20))
    expect(bytes).toBe(16 * 2 ** 20)
  })

  test('a reset passes on', async () => {
    const { passage } = await passageTo((stream) => {
      stream.respond({ ':status': 200 })
      stream.write('some')
      setImmediate(() => stream.destroy(new Error('broken')))
    })
    const { rstCode } = await ask(await passage.enterHttp2(), { ':path': '/' })
    expect(rstCode).not.toBe(constants.NGHTTP2_NO_ERROR)
  })

  test('an upload that the program aborts is aborted upstream', async () => {
    const { promise, resolve } = Promise.withResolvers<number>()
    const { passage } = await passageTo((stream) => {
      stream.resume().once('close', () => resolve(stream.rstCode))
    })
    const session = await passage.enterHttp2()
    const stream = session.request({ ':authority': hostName, ':method': 'POST', ':path': '/' })
    stream.on('error', () => {})
    stream.write('some', () => stream.destroy(new Error('broken')))
    expect(await promise).not.toBe(constants.NGHTTP2_NO_ERROR)
  })

  test.each<[string, OutgoingHttpHeaders, number]>([
    ['another authority', { ':authority': 'other.example.com', ':path': '/' }, 421],
    ['another Host beside the authority', { host: 'other.example.com', ':path': '/' }, 421],
    ['plain http', { ':scheme': 'http', ':path': '/' }, 400],
    ['a fragment', { ':path': '/a#b' }, 400],
    ['an invalid method', { ':method': 'get', ':path': '/' }, 400],
  ])('carries no request with %s', async (_name, headers, status) => {
    const { passage, arrived } = await passageTo(ok)
    const answer = await ask(await passage.enterHttp2(), headers)
    expect(answer.headers[':status']).toBe(status)
    expect(arrived).toEqual([])
  })

  test('refuses denied requests, and nothing reaches the server', async () => {
    const { passage, arrived } = await passageTo(ok)
    passage.verdict = () => ({ allowed: false, reason: 'request_denied' })
    const { headers, body } = await ask(
      await passage.enterHttp2(),
      { ':method': 'POST', ':path': '/x?secret=1' },
      'body',
    )
    expect(headers[':status']).toBe(403)
    expect(body).toContain('egress_request_denied')
    expect(arrived).toEqual([])
    expect(passage.decisions).toEqual([{ allowed: false, rule: 'request_denied', method: 'POST', path: '/x' }])
  })

  test('an upstream with a wrong encoding ends only its own answer', async () => {
    const { passage } = await passageTo((stream) => {
      stream.respond({ ':status': 200, 'content-encoding': 'constructor' })
      stream.end('hello')
    })
    passage.secrets = [secretOf()]
    expect((await ask(await passage.enterHttp2(), { ':path': '/' })).headers[':status']).toBe(502)
  })

  test.each([204, 304])('an answer %i without a body passes', async (status) => {
    const { passage } = await passageTo((stream) => stream.respond({ ':status': status }, { endStream: true }))
    const { headers, rstCode } = await ask(await passage.enterHttp2(), { ':path': '/' })
    expect(headers[':status']).toBe(status)
    expect(rstCode).toBe(constants.NGHTTP2_NO_ERROR)
  })

  test('a program that resets without an error during an answer ends only its own stream', async () => {
    const { passage } = await passageTo((stream) => {
      stream.on('data', () => {})
      setTimeout(() => {
        if (stream.destroyed) return
        stream.respond({ ':status': 413 })
        stream.end('too large')
      }, 50)
    })
    const session = await passage.enterHttp2()
    const stream = session.request({ ':authority': hostName, ':method': 'POST', ':path': '/' })
    stream.on('error', () => {})
    stream.resume() // A busy machine answers before the reset, and an unread answer delays the close.
    stream.write(Buffer.alloc(512 * 1024), () => stream.close(constants.NGHTTP2_NO_ERROR))
    await new Promise<void>((resolve) => stream.once('close', () => resolve()))
    passage.verdict = () => ({ allowed: false, reason: 'request_denied' })
    expect((await ask(await passage.enterHttp2(), { ':path': '/' })).headers[':status']).toBe(403)
  })

  test('replaces the placeholder of a secret, and masks returned values', async () => {
    const { passage, arrived } = await passageTo((stream, headers) => {
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-echo': real }))
      stream.respond({ ':status': 200, 'x-sent': String(headers.authorization) }, { waitForTrailers: true })
      stream.write(`you sent sk-the-real-`)
      stream.end('value-0123456789!')
    })
    passage.secrets = [secretOf()]
    const answer = await ask(await passage.enterHttp2(), {
      ':path': '/',
      authorization: `Bearer ${placeholder}`,
      'x-other': placeholder,
    })
    expect(arrived[0]).toMatchObject({
      authorization: `Bearer ${real}`,
      'x-other': placeholder,
      'accept-encoding': 'identity',
    })
    expect(JSON.stringify(answer)).not.toContain(real)
    expect(answer.body).toContain('you sent ')
  })

  test('a program that offers both gets the protocol of the upstream', async () => {
    const { passage } = await passageTo(ok)
    expect((await passage.enter({ protocols: ['h2', 'http/1.1'] })).alpnProtocol).toBe('h2')
  })
})

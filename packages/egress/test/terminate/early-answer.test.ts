import { type ClientHttp2Session, type ClientHttp2Stream, constants, type IncomingHttpHeaders } from 'node:http2'
import { describe, expect, test } from 'vitest'
import { until } from '../support/gateway.ts'
import { FrameReader, fields, flag, frame, frameType } from '../support/raw-http2.ts'
import { type OnFrame, startRawUpstream } from '../support/raw-upstream.ts'
import { hostName, makePassage, secretOf, upstreamContext } from './harness.ts'

/** A passage to an upstream that acts on the first frame of a type on each stream. */
async function passageTo(type: number, act: OnFrame) {
  const { ca, context } = await upstreamContext()
  const answered = new Set<number>()
  const upstream = await startRawUpstream(context, (seen, write) => {
    if (seen.type !== type || answered.has(seen.stream)) return
    answered.add(seen.stream)
    act(seen, write)
  })
  return { upstream, passage: await makePassage({ port: upstream.port, caPem: ca.certificatePem }) }
}

const noError = Buffer.alloc(4)

/** The head of an answer, its body, and a reset that is no error (RFC 9113, 8.1), in one piece. */
function early(stream: number, bodyFlags: number): readonly Buffer[] {
  return [
    frame(frameType.headers, flag.endHeaders, stream, fields({ ':status': '413' })),
    frame(frameType.data, bodyFlags, stream, Buffer.from('too large')),
    frame(frameType.reset, 0, stream, noError),
  ]
}

/** An upload that is never whole: it writes as much as it may. */
function upload(session: ClientHttp2Session): { stream: ClientHttp2Stream; answer: Promise<Answer> } {
  const stream = session.request({ ':authority': hostName, ':method': 'POST', ':path': '/' })
  stream.write(Buffer.alloc(1024 * 1024))
  return { stream, answer: answerOf(stream) }
}

interface Answer {
  readonly status: number
  readonly body: string
  readonly rstCode: number
}

async function answerOf(stream: ClientHttp2Stream): Promise<Answer> {
  let headers: IncomingHttpHeaders = {}
  let body = ''
  stream.on('error', () => {})
  stream.on('response', (received) => {
    headers = received
  })
  stream.setEncoding('latin1').on('data', (part: string) => {
    body += part
  })
  // Node's client does not close one that was reset without an error before it has sent all that
  // was written to it.
  await until(() => stream.destroyed || (stream.closed && stream.readableEnded), 'the stream is over')
  return { status: Number(headers[':status']), body, rstCode: stream.rstCode }
}

describe('an upload over HTTP/2 that the upstream answers early', () => {
  test.each([
    ['as it is', []],
    ['searched for secrets', [secretOf()]],
  ])('is stopped when the upstream reads no more, and has the whole answer, %s', async (_name, secrets) => {
    const { passage } = await passageTo(frameType.data, ({ stream }, write) => write(...early(stream, flag.endStream)))
    passage.secrets = secrets
    const { answer } = upload(await passage.enterHttp2())
    expect(await answer).toEqual({ status: 413, body: 'too large', rstCode: constants.NGHTTP2_NO_ERROR })
  })

  test('is stopped when the upstream stops it after its answer', async () => {
    let stop = () => {}
    const { passage } = await passageTo(frameType.data, (seen, write) => {
      const [head, body, reset] = early(seen.stream, flag.endStream) as [Buffer, Buffer, Buffer]
      write(head, body)
      stop = () => write(reset)
    })
    const { stream, answer } = upload(await passage.enterHttp2())
    stream.once('end', () => stop())
    expect(await answer).toEqual({ status: 413, body: 'too large', rstCode: constants.NGHTTP2_NO_ERROR })
  })

  test('continues when the upstream only answers', async () => {
    const { passage, upstream } = await passageTo(frameType.headers, ({ stream }, write) =>
      write(...early(stream, flag.endStream).slice(0, 2)),
    )
    const session = await passage.enterHttp2()
    const stream = session.request({ ':authority': hostName, ':method': 'POST', ':path': '/' })
    const answer = answerOf(stream)
    stream.once('end', () => stream.end('the rest'))
    expect(await answer).toEqual({ status: 413, body: 'too large', rstCode: constants.NGHTTP2_NO_ERROR })
    await until(
      () => upstream.frames.some(({ type, flags }) => type === frameType.data && (flags & flag.endStream) > 0),
      'the upload has ended',
    )
    expect(
      Buffer.concat(upstream.frames.filter(({ type }) => type === frameType.data).map(({ payload }) => payload)),
    ).toEqual(Buffer.from('the rest'))
  })

  test('has an aborted answer if that breaks off, even without an error', async () => {
    const { passage } = await passageTo(frameType.headers, ({ stream }, write) => write(...early(stream, 0)))
    const session = await passage.enterHttp2()
    const stream = session.request({ ':authority': hostName, ':path': '/' })
    expect((await answerOf(stream)).rstCode).not.toBe(constants.NGHTTP2_NO_ERROR)
  })

  test('is not complete upstream if its program stops it after the answer', async () => {
    const { passage, upstream } = await passageTo(frameType.data, ({ stream }, write) =>
      write(...early(stream, flag.endStream).slice(0, 2)),
    )
    const head = { ':method': 'POST', ':scheme': 'https', ':authority': hostName, ':path': '/' }
    const socket = await passage.enter({ protocols: ['h2'] })
    const reader = new FrameReader()
    socket.on('data', (bytes: Buffer) => {
      for (const { type, flags } of reader.read(bytes))
        if (type === frameType.data && flags === flag.endStream) socket.write(frame(frameType.reset, 0, 1, noError))
    })
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    socket.write(frame(frameType.settings, 0, 0))
    socket.write(frame(frameType.headers, flag.endHeaders, 1, fields(head)))
    socket.write(frame(frameType.data, 0, 1, Buffer.from('some')))
    await until(() => upstream.frames.some(({ type }) => type === frameType.reset), 'the upload is broken off')
    expect(upstream.frames.filter(({ type, flags }) => type === frameType.data && flags === flag.endStream)).toEqual([])
  })
})

test('a request without a body has none upstream', async () => {
  const { passage, upstream } = await passageTo(frameType.headers, ({ stream }, write) =>
    write(...early(stream, flag.endStream).slice(0, 2)),
  )
  const session = await passage.enterHttp2()
  await answerOf(session.request({ ':authority': hostName, ':path': '/' }))
  await answerOf(session.request({ ':authority': hostName, ':method': 'POST', ':path': '/' }, { endStream: true }))
  const shown: readonly number[] = [frameType.headers, frameType.data, frameType.reset]
  const ofRequests = upstream.frames.filter(({ type }) => shown.includes(type))
  expect(ofRequests.map(({ type, flags }) => [type, flags & flag.endStream])).toEqual([
    [frameType.headers, flag.endStream],
    [frameType.headers, flag.endStream],
  ])
})

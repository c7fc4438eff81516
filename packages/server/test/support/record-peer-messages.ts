import { once } from 'node:events'
import { type ClientHttp2Stream, connect, createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** The messages of one request between hosts of this process, in both directions. */
export interface PeerMessages {
  /** The headers of the request, as JSON. */
  readonly head: string
  /** The bytes of the body of the request and of its answer. */
  body: string
}

/** The functions of all streams of HTTP/2 through which the bytes of bodies go. */
interface StreamMethods {
  push(this: ClientHttp2Stream, chunk: Uint8Array | null, encoding?: string): boolean
  _write(this: ClientHttp2Stream, chunk: Uint8Array, encoding: string, done: () => void): void
  _writev(this: ClientHttp2Stream, chunks: readonly { readonly chunk: Uint8Array }[], done: () => void): void
}

/**
 * Records everything that hosts of this process send to each other until the end of the test, as
 * they send it before encryption.
 */
export async function recordPeerMessages(): Promise<readonly PeerMessages[]> {
  const methods = await streamMethods()
  const { push, _write, _writev } = methods
  const seen = new Map<ClientHttp2Stream, PeerMessages>()
  const note = (stream: ClientHttp2Stream, chunk: Uint8Array | null) => {
    const { sentHeaders } = stream
    // The streams of the asked host have no path: its bytes are those that the asking host gets.
    if (sentHeaders?.[':path'] === undefined) return
    const messages = seen.get(stream) ?? { head: JSON.stringify(sentHeaders), body: '' }
    if (chunk !== null) messages.body += Buffer.from(chunk).toString('latin1')
    if (!seen.has(stream)) all.push(messages)
    seen.set(stream, messages)
  }
  const all: PeerMessages[] = []
  methods.push = function (chunk, encoding) {
    note(this, chunk)
    return push.call(this, chunk, encoding)
  }
  methods._write = function (chunk, encoding, done) {
    note(this, chunk)
    _write.call(this, chunk, encoding, done)
  }
  methods._writev = function (chunks, done) {
    for (const { chunk } of chunks) note(this, chunk)
    _writev.call(this, chunks, done)
  }
  onTestFinished(() => void Object.assign(methods, { push, _write, _writev }))
  return all
}

/** Returns the prototype of all streams of HTTP/2, which Node does not export. */
async function streamMethods(): Promise<StreamMethods> {
  const server = createServer((_, response) => response.end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const stream = session.request()
  await once(stream.resume(), 'end')
  session.close()
  server.close()
  return Object.getPrototypeOf(Object.getPrototypeOf(stream)) as StreamMethods
}

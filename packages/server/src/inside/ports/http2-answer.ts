import { HoltError } from '@holt/protocol'

/** The remedy for HTTP/2 without TLS: HTTP/1.1, or a port forwarded as TCP. */
const http2Hint =
  'Speak HTTP/1.1 to the port (gRPC-Web or Connect instead of gRPC), or carry it as TCP: holt port RUNTIME --forward LOCAL:PORT.'

const settingsFrame = 4
const settingBytes = 6
const frameHeaderBytes = 9

/** The start of an HTTP/2 connection with prior knowledge (RFC 9113, 3.4). */
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

/** The error of Node's HTTP/1.1 parser for invalid bytes. */
export interface ParseFailure extends Error {
  readonly code?: string
  /** The last packet that was parsed. */
  readonly rawPacket?: unknown
  /** The number of parsed bytes of that packet. */
  readonly bytesParsed?: unknown
}

/**
 * Returns true for the start of an HTTP/2 connection as a server sends it: a SETTINGS frame of the
 * connection (RFC 9113, 3.4 and 6.5).
 */
export function isHttp2Server(bytes: Uint8Array): boolean {
  if (bytes.length < frameHeaderBytes) return false
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, frameHeaderBytes)
  return (
    view.readUIntBE(0, 3) % settingBytes === 0 &&
    view[3] === settingsFrame &&
    view[4] === 0 &&
    view.readUInt32BE(5) === 0
  )
}

/**
 * Returns the bytes that an HTTP/2 client has sent, or null for another protocol. The parser
 * reports a separate code after the preface. Earlier packets of a split preface are lost, so the
 * preface is added again.
 */
export function http2Start({ code, rawPacket, bytesParsed }: ParseFailure): Uint8Array | null {
  if (code !== 'HPE_PAUSED_H2_UPGRADE') return null
  if (!(rawPacket instanceof Uint8Array) || typeof bytesParsed !== 'number') return null
  return Buffer.concat([preface, rawPacket.subarray(bytesParsed)])
}

/** Returns the error for a visit to a program that answers in HTTP/2. */
export function http2Failure(cause: unknown): HoltError {
  return new HoltError('port_failed', 'The program on the port speaks HTTP/2 without TLS, which ports do not carry.', {
    hint: http2Hint,
    cause,
  })
}

/** Returns the error for a client that speaks HTTP/2 without TLS to the service. */
export function http2Refusal(): HoltError {
  return new HoltError('port_failed', 'HTTP/2 without TLS is not supported here.', { hint: http2Hint })
}

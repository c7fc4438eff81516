import { type ClientHttp2Session, connect, constants, type SecureClientSessionOptions } from 'node:http2'
import type { Socket } from 'node:net'

/**
 * The bytes that one stream may send ahead of its reader. An unread answer keeps as much in this
 * process. Four times the size makes a bulk transfer no faster, and half of it makes it slower.
 */
const STREAM_WINDOW_BYTES = 2 ** 20

/**
 * The bytes that a runtime may have in transit. It does not bound memory: Node returns this window
 * as soon as bytes arrive (`Http2Session::OnDataChunkReceived` of `src/node_http2.cc`).
 */
const SESSION_WINDOW_BYTES = 16 * 2 ** 20

/** The time in which a guest that has connected must speak HTTP/2, in milliseconds. */
const PREFACE_TIMEOUT_MS = 5_000

const OPTIONS: SecureClientSessionOptions = {
  maxHeaderListPairs: 64,
  maxSendHeaderBlockLength: 64 * 1024,
  maxReservedRemoteStreams: 0,
  maxOutstandingPings: 4,
  maxSettings: 32,
  maxSessionMemory: 64,
  settings: {
    enablePush: false,
    initialWindowSize: STREAM_WINDOW_BYTES,
    maxFrameSize: 2 ** 20,
    maxHeaderListSize: 16 * 1024,
  },
}

/**
 * Opens an HTTP/2 client session on an accepted connection. Resolves when the other side has sent
 * its settings. On any failure the socket is destroyed and the promise rejects.
 */
export function openSession(socket: Socket): Promise<ClientHttp2Session> {
  return new Promise((resolve, reject) => {
    const session = connect('http://guest', { ...OPTIONS, createConnection: () => socket })
    const fail = (error: Error) => {
      clearTimeout(timer)
      session.destroy()
      socket.destroy()
      reject(error)
    }
    const timer = setTimeout(() => fail(new Error('the guest does not speak HTTP/2')), PREFACE_TIMEOUT_MS)
    session.on('error', fail)
    session.once('close', () => fail(new Error('the guest closed its connection')))
    // A guest opens no streams, so pushes are refused.
    session.on('stream', (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM))
    session.once('connect', () => session.setLocalWindowSize(SESSION_WINDOW_BYTES))
    session.once('remoteSettings', () => {
      clearTimeout(timer)
      resolve(session)
    })
  })
}

import { type ClientHttp2Session, connect, constants, type SecureClientSessionOptions } from 'node:http2'
import type { Socket } from 'node:net'

/**
 * What one stream may send ahead of its reader, which is what an answer keeps here that nobody
 * reads. A bulk transfer is as quick as with four times of it, and with half of it slower.
 */
const STREAM_WINDOW_BYTES = 2 ** 20

/**
 * What a runtime may have on the way. It bounds nothing that is kept: Node gives this window back
 * as soon as bytes have come (`Http2Session::OnDataChunkReceived` of `src/node_http2.cc`).
 */
const SESSION_WINDOW_BYTES = 16 * 2 ** 20

/** A guest that has connected speaks HTTP/2 within this time, or is not one. */
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
 * Makes an HTTP/2 client of an accepted connection. Resolves when the other side has sent its
 * settings; on any failure the socket is destroyed and the promise rejects.
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
    // A guest opens no streams: what it pushes is refused.
    session.on('stream', (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM))
    session.once('connect', () => session.setLocalWindowSize(SESSION_WINDOW_BYTES))
    session.once('remoteSettings', () => {
      clearTimeout(timer)
      resolve(session)
    })
  })
}

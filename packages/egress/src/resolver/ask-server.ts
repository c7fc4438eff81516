import { createSocket } from 'node:dgram'
import { connect } from 'node:net'
import { GatheredBytes } from '@holt/async'
import { type ReceivedAnswer, readAnswer, type SentQuery } from './messages.ts'
import type { DnsServer } from './servers.ts'

/**
 * The maximum time for one server over UDP before the next is asked, and over TCP, in milliseconds.
 */
const udpTimeoutMs = 1500
const tcpTimeoutMs = 3000

/** The maximum number of messages that are skipped before the answer to the query. */
const maxStrayMessages = 100

/**
 * Asks one server. Asks again over TCP if the answer over UDP is unreliable. Rejects if no answer
 * arrives.
 */
export async function askServer(server: DnsServer, query: SentQuery, signal: AbortSignal): Promise<ReceivedAnswer> {
  const answer = await askOverUdp(server, query, AbortSignal.any([signal, AbortSignal.timeout(udpTimeoutMs)]))
  if (!answer.unsure) return answer
  return askOverTcp(server, query, AbortSignal.any([signal, AbortSignal.timeout(tcpTimeoutMs)]))
}

/**
 * Asks over UDP from a port that the kernel picks at random. The socket is connected, so it
 * receives only the server's messages.
 */
function askOverUdp(server: DnsServer, query: SentQuery, signal: AbortSignal): Promise<ReceivedAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<ReceivedAnswer>()
  const socket = createSocket(server.address.family === 4 ? 'udp4' : 'udp6')
  const stop = () => reject(signal.reason)
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  let strays = 0
  socket.on('error', reject)
  socket.on('message', (message) => {
    try {
      const answer = readAnswer(query, message)
      if (answer !== null) resolve(answer)
      else if (++strays > maxStrayMessages) reject(new Error('too many messages that are not an answer'))
    } catch (error) {
      reject(error)
    }
  })
  // Node's types do not declare that the callback also gets an error.
  socket.connect(server.port, server.address.text, ((error?: Error) => {
    if (error !== undefined && error !== null) reject(error)
    else if (!signal.aborted) socket.send(query.message, (error) => error && reject(error))
  }) as () => void)
  return promise.finally(() => {
    signal.removeEventListener('abort', stop)
    socket.close()
  })
}

/** Asks over TCP. Each message follows its length (RFC 1035, 4.2.2). */
function askOverTcp(server: DnsServer, query: SentQuery, signal: AbortSignal): Promise<ReceivedAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<ReceivedAnswer>()
  const socket = connect({ host: server.address.text, port: server.port, signal })
  const length = Buffer.alloc(2)
  length.writeUInt16BE(query.message.length)
  socket.on('connect', () => socket.write(Buffer.concat([length, query.message])))
  const received = new GatheredBytes()
  let needed: number | null = null
  socket.on('data', (chunk: Buffer) => {
    received.add(chunk)
    if (needed === null && received.length >= 2) needed = received.take(2).readUInt16BE(0)
    if (needed === null || received.length < needed) return
    // Bytes after the first message are neither read nor kept.
    socket.destroy()
    try {
      const answer = readAnswer(query, received.take(needed))
      if (answer === null) reject(new Error('the answer over TCP does not belong to the query'))
      else resolve(answer)
    } catch (error) {
      reject(error)
    }
  })
  socket.on('error', reject)
  socket.on('close', () => reject(new Error('closed without an answer')))
  return promise.finally(() => socket.destroy())
}

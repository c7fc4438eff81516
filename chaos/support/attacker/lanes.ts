import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { countAnswers } from './count-answers.ts'
import type { AttackTime, Tally, Target } from './target.ts'

/** How long an answer is waited for that nobody has read until then. */
const lateMs = 5_000

/** The same of an answer before anybody attacks. */
const calmMs = 20_000

/** So many connections are opened in one go. */
const batch = 100

/** How an attacker's connections are opened. */
export interface Lanes {
  /** How many at once: one that is closed is opened anew. */
  readonly count: number
  /**
   * How many addresses of loopback they come from, each a peer of its own; default: 127.0.0.1, as
   * everybody else.
   */
  readonly addresses?: number
  /**
   * Whether what the service answers is read; default: yes. Of what is not, the beginning is looked
   * at when it is over.
   */
  readonly reads?: boolean
  /**
   * Each is asked once beforehand, over a connection that is read: so it is known what those are
   * answered that are cut before they are.
   */
  readonly asksFirst?: readonly string[]
}

/** What is done over a connection. */
export interface Lane {
  readonly socket: Socket
  readonly index: number
  /** Notes a piece that was sent. */
  readonly note: () => void
}

/**
 * Keeps connections open and does something over each of them: for a time that begins when each has
 * been begun, since to open thousands takes a slow machine long.
 */
export async function lanes(
  target: Target,
  { leastMs, enough }: AttackTime,
  { count, addresses = 0, reads = true, asksFirst = [] }: Lanes,
  use: (lane: Lane) => void,
): Promise<Tally> {
  const tally: Tally = { opened: 0, closed: 0, bytes_sent: 0, bytes_read: 0, pieces: 0, answers: {} }
  const end = new AbortController()
  const over = end.signal
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const note = () => {
    tally.pieces += 1
  }
  const lane = async (index: number) => {
    while (!over.aborted) {
      const socket = open(target, addresses === 0 ? undefined : `127.0.1.${1 + (index % addresses)}`)
      const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
      const look = countAnswers(tally.answers)
      const onData = (data: Buffer) => {
        tally.bytes_read += data.length
        look(data)
      }
      socket.once('connect', () => {
        tally.opened += 1
        use({ socket, index, note })
      })
      if (reads) socket.on('data', onData)
      else socket.pause()
      const hangUp = () => void (reads ? socket.destroy() : readOnce(socket, lateMs, onData))
      over.addEventListener('abort', hangUp)
      await closed
      over.removeEventListener('abort', hangUp)
      tally.bytes_sent += socket.bytesWritten - socket.writableLength
      if (!over.aborted) tally.closed += 1
      await begun
      await sleep(20)
    }
  }
  for (const request of asksFirst) await askOnce(target, { request, answers: tally.answers })
  const all: Promise<void>[] = []
  for (let index = 0; index < count; index += 1) {
    all.push(lane(index))
    // What has been opened is looked at in between.
    if (index % batch === batch - 1) await sleep(1)
  }
  begin()
  await Promise.all([sleep(leastMs), enough])
  end.abort()
  await Promise.all(all)
  return { ...tally, answers: Object.fromEntries(Object.entries(tally.answers).filter(([, count]) => count > 0)) }
}

function open({ port }: Target, localAddress: string | undefined): Socket {
  const socket = connect({ port, host: '127.0.0.1', ...(localAddress === undefined ? {} : { localAddress }) })
  socket.on('error', () => {}) // Being cut is what an attacker expects.
  return socket
}

/** Reads the beginning of what nobody has read so far, and hangs up. */
function readOnce(socket: Socket, timeoutMs: number, onData: (data: Buffer) => void): void {
  const timer = setTimeout(() => socket.destroy(), timeoutMs)
  socket.once('close', () => clearTimeout(timer))
  socket.once('data', (data) => {
    onData(data)
    socket.destroy()
  })
  socket.resume()
}

async function askOnce(
  target: Target,
  { request, answers }: { readonly request: string; readonly answers: Record<string, number> },
): Promise<void> {
  const socket = open(target, undefined)
  socket.write(request)
  await new Promise<void>((resolve) => {
    socket.once('close', () => resolve())
    readOnce(socket, calmMs, countAnswers(answers))
  })
}

/** Writes the same again and again for as long as the connection takes it. */
export function pour({ socket, note }: Lane, bytes: Buffer | string): void {
  const more = () => {
    while (!socket.destroyed) {
      note()
      if (!socket.write(bytes) || socket.writableLength > 2 ** 20) return
    }
  }
  socket.on('drain', more)
  more()
}

/** Writes a byte now and then, so that nobody can say nothing had come. */
export function drip({ socket, note }: Lane, byte: string, everyMs: number): void {
  const timer = setInterval(() => {
    note()
    socket.write(byte)
  }, everyMs)
  socket.once('close', () => clearInterval(timer))
}

/** The head of a request, with a key and other headers. */
export function head(
  { key }: Pick<Target, 'key'>,
  line: string,
  headers: Readonly<Record<string, string | number>> = {},
): string {
  const all = { host: 'localhost', authorization: `Bearer ${key}`, ...headers }
  return `${line} HTTP/1.1\r\n${Object.entries(all)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`
}

/** So many bytes of a body, each a chunk of its own (RFC 9112, 7.1). */
export function oneByteChunks(bytes: number): Buffer {
  return Buffer.alloc(bytes * 6, '1\r\nx\r\n')
}

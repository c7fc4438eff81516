import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { countAnswers } from './count-answers.ts'
import type { AttackTime, Tally, Target } from './target.ts'

/** The timeout for reading an answer that was not read during the attack, in milliseconds. */
const lateMs = 5_000

/** The timeout for an answer before the attack, in milliseconds. */
const calmMs = 20_000

/** The number of connections that are opened without a pause. */
const batch = 100

/** The connections of an attacker. */
export interface Lanes {
  /** The number of concurrent connections. A closed one is replaced. */
  readonly count: number
  /**
   * The number of loopback addresses that they come from. Each is a separate peer. By default all
   * come from 127.0.0.1, as other clients do.
   */
  readonly addresses?: number
  /**
   * True if answers are read, which is the default. Otherwise only the beginning is read at the end
   * of the attack.
   */
  readonly reads?: boolean
  /**
   * Requests that are sent once before the attack, over a connection that is read. Their answers
   * are counted even if those during the attack are cut.
   */
  readonly asksFirst?: readonly string[]
}

/** One connection of an attacker. */
export interface Lane {
  readonly socket: Socket
  readonly index: number
  /** Counts a piece that was sent. */
  readonly note: () => void
}

/**
 * Keeps connections open and calls `use` for each of them. The time begins after all were opened,
 * because a slow machine takes long to open thousands.
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
    // Connections that are already open are handled meanwhile.
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
  socket.on('error', () => {}) // An attacker expects to be cut.
  return socket
}

/** Reads the beginning of the unread bytes, and closes the connection. */
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

/** Writes the same bytes repeatedly, as fast as the connection accepts them. */
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

/** Writes a byte at intervals, so that the connection is never silent. */
export function drip({ socket, note }: Lane, byte: string, everyMs: number): void {
  const timer = setInterval(() => {
    note()
    socket.write(byte)
  }, everyMs)
  socket.once('close', () => clearInterval(timer))
}

/** Returns the head of a request, with a key and other headers. */
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

/** Returns `bytes` bytes of a body, each in its own chunk (RFC 9112, 7.1). */
export function oneByteChunks(bytes: number): Buffer {
  return Buffer.alloc(bytes * 6, '1\r\nx\r\n')
}

import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Tally, Target } from './target.ts'

/** How an attacker's connections are opened. */
export interface Lanes {
  /** How many at once: one that is closed is opened anew. */
  readonly count: number
  /** How many addresses of loopback they come from, each a peer of its own; default: 127.0.0.1, as everybody else. */
  readonly addresses?: number
  /** Whether what the service answers is read; default: yes. */
  readonly reads?: boolean
}

/** Keeps connections open until it is over, and does something over each of them. Answers how many were opened, and how many the service closed. */
export async function lanes(
  { port }: Target,
  over: AbortSignal,
  { count, addresses = 0, reads = true }: Lanes,
  use: (socket: Socket, index: number) => void,
): Promise<Tally> {
  const tally = { opened: 0, closed: 0, bytes_read: 0 }
  const lane = async (index: number) => {
    while (!over.aborted) {
      const localAddress = addresses === 0 ? undefined : `127.0.1.${1 + (index % addresses)}`
      const socket = connect({ port, host: '127.0.0.1', ...(localAddress === undefined ? {} : { localAddress }) })
      const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
      socket.on('error', () => {}) // Being cut is what an attacker expects.
      socket.once('connect', () => {
        tally.opened += 1
        use(socket, index)
      })
      if (reads) socket.on('data', (data) => (tally.bytes_read += data.length))
      else socket.pause()
      const end = () => void socket.destroy()
      over.addEventListener('abort', end)
      await closed
      over.removeEventListener('abort', end)
      if (!over.aborted) tally.closed += 1
      await sleep(20)
    }
  }
  await Promise.all(Array.from({ length: count }, (_, index) => lane(index)))
  return tally
}

/** Writes the same again and again for as long as the connection takes it. */
export function pour(socket: Socket, bytes: Buffer | string): void {
  const more = () => {
    while (!socket.destroyed && socket.write(bytes)) if (socket.writableLength > 2 ** 20) return
  }
  socket.on('drain', more)
  more()
}

/** Writes a byte now and then, so that nobody can say nothing had come. */
export function drip(socket: Socket, byte: string, everyMs: number): void {
  const timer = setInterval(() => socket.write(byte), everyMs)
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

import { connect, type Socket } from 'node:net'
import type { Address } from '../addresses/parse-address.ts'
import type { DenialReason } from '../contract/gateway-contract.ts'

/** The failure to connect, with the reason. */
export class DialError extends Error {
  override readonly name = 'DialError'
  readonly reason: DenialReason

  constructor(reason: DenialReason) {
    super(reason)
    this.reason = reason
  }
}

/** The time for one address, and for all of them together, in milliseconds. */
const dialTimeoutMs = 10_000
/** The time before the next address is tried in parallel, in milliseconds (RFC 8305, 5). */
const nextAttemptMs = 250
const maxAttempts = 8
/**
 * The idle time before keep-alive probes, in milliseconds. They detect a vanished peer while no
 * bytes are sent.
 */
const keepAliveMs = 60_000

/**
 * Connects to the first of the addresses that answers. Each is dialled exactly as given. The socket
 * stays half-open when the peer ends. Rejects with a `DialError`, or with the signal's reason.
 */
export async function dial(addresses: readonly Address[], port: number, signal: AbortSignal): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const left = addresses.slice(0, maxAttempts)
  const open = new Set<Socket>()
  const errors: string[] = []
  let timer: NodeJS.Timeout | undefined
  const next = () => {
    clearTimeout(timer)
    const address = left.shift()
    if (address === undefined) {
      if (open.size === 0) reject(new DialError(reasonOf(errors)))
      return
    }
    const socket = attempt(address, port)
    open.add(socket)
    socket.once('connect', () => resolve(socket))
    socket.once('error', (error: NodeJS.ErrnoException) => {
      open.delete(socket)
      errors.push(error.code ?? '')
      next()
    })
    timer = setTimeout(next, nextAttemptMs)
  }
  const limit = setTimeout(() => reject(new DialError('upstream_timeout')), dialTimeoutMs)
  const stop = () => reject(signal.reason)
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  else next()
  let won: Socket | undefined
  try {
    won = await promise
    won.removeAllListeners('error')
    // The owner of the connection handles errors, too. This listener only prevents unhandled ones.
    won.on('error', () => undefined)
    return won
  } finally {
    clearTimeout(timer)
    clearTimeout(limit)
    signal.removeEventListener('abort', stop)
    left.length = 0
    for (const socket of open) if (socket !== won) socket.destroy()
  }
}

/** Dials one address. `host` is its canonical text, so no name is resolved. */
function attempt(address: Address, port: number): Socket {
  return connect({
    host: address.text,
    port,
    family: address.family,
    autoSelectFamily: false,
    allowHalfOpen: true,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveMs,
  })
}

function reasonOf(errors: readonly string[]): DenialReason {
  if (errors.includes('ECONNREFUSED')) return 'upstream_refused'
  return errors.includes('ETIMEDOUT') ? 'upstream_timeout' : 'upstream_unreachable'
}

import { connect, type Socket } from 'node:net'
import type { Address } from '../addresses/parse-address.ts'
import type { DenialReason } from '../contract.ts'

/** Why nobody could be reached. */
export class DialError extends Error {
  override readonly name = 'DialError'
  readonly reason: DenialReason

  constructor(reason: DenialReason) {
    super(reason)
    this.reason = reason
  }
}

/** As long as one address, and all of them together, may take. */
const dialTimeoutMs = 10_000
/** RFC 8305, 5: how long an address is waited for before the next is tried beside it. */
const nextAttemptMs = 250
const maxAttempts = 8
/** A peer that vanished is noticed although nothing is sent. */
const keepAliveMs = 60_000

/**
 * Connects to the first of the addresses that answers; each is dialled exactly as given. The socket
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
    // Whoever carries the connection hears of errors too; this one only keeps them from being
    // nobody's.
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

/** `host` is an address in canonical text, so nothing is looked up. */
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

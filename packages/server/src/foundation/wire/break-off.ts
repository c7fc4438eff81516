import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'

/** The connection below each TLS connection. Node does not expose it. */
const below = new WeakMap<Duplex, Socket>()

/** Notes the connection that carries a TLS connection. */
export function noteCarrier(secured: TLSSocket, carrier: Socket): void {
  below.set(secured, carrier)
}

/**
 * Ends a connection so that its client sees a break and no regular end: with a reset of TCP. Node
 * can only reset the connection below a TLS connection.
 */
export function breakOff(socket: Duplex): void {
  if (socket instanceof TLSSocket) {
    const carrier = below.get(socket)
    if (carrier !== undefined && !carrier.destroyed) carrier.resetAndDestroy()
    socket.destroy()
  } else if (socket instanceof Socket) socket.resetAndDestroy()
  else socket.destroy()
}

import type { WebSocket } from 'ws'

/**
 * The maximum number of pings and pongs that a connection may send in each interval. A client needs
 * a few.
 */
const usual = { max: 200, everyMs: 10_000 }

/**
 * Calls `exceeded` once if the peer of a connection sends more pings and pongs than the limit. The
 * service answers each ping, so a flood would cost it more than the client.
 */
export function limitControlFrames(ws: WebSocket, exceeded: () => void, { max, everyMs } = usual): void {
  let count = 0
  let since = performance.now()
  const note = () => {
    const now = performance.now()
    if (now - since > everyMs) [count, since] = [0, now]
    count += 1
    if (count === max + 1) exceeded()
  }
  ws.on('ping', note).on('pong', note)
}

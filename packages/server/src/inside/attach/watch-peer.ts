import type { WebSocket } from 'ws'

/** The interval of pings, in milliseconds. A peer that is silent for one interval is lost. */
const askMs = 20_000

/**
 * Calls `lost` when the peer of a connection is silent. A paused connection is not checked, because
 * its answers cannot be read.
 */
export function watchPeer(ws: WebSocket, lost: () => void, everyMs = askMs): void {
  let heard = true
  const hear = () => {
    heard = true
  }
  const timer = setInterval(() => {
    if (!heard && !ws.isPaused) {
      lost()
      return
    }
    heard = ws.isPaused
    ws.ping()
  }, everyMs).unref()
  ws.on('pong', hear).on('message', hear).on('ping', hear)
  ws.once('close', () => clearInterval(timer))
}

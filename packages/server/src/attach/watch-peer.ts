import type { WebSocket } from 'ws'

/**
 * How often a peer is asked whether it is there; one that has said nothing from one question to the
 * next is gone.
 */
const askMs = 20_000

/**
 * Calls `lost` when the other end of a connection is gone without a word. While a connection is
 * paused its answers cannot be read, and it is not asked.
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

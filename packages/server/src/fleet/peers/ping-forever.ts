import type { Http2Session } from 'node:http2'

/** The pings that may be unanswered. */
const mostLost = 3

/**
 * Pings a connection at an interval, until it closes. Destroys it after three unanswered pings, so
 * that the streams of a host without power or network end.
 */
export function pingForever(session: Http2Session, everyMs: number): void {
  let unanswered = 0
  const timer = setInterval(() => {
    // `close` comes later than the end.
    if (session.destroyed) return
    if (unanswered >= mostLost) {
      session.destroy(new Error(`the host did not answer ${mostLost} pings`))
      return
    }
    unanswered += 1
    // Node refuses a ping while too many are unanswered. That counts as a lost one.
    session.ping((error) => {
      if (error === null) unanswered = 0
    })
  }, everyMs).unref()
  session.once('close', () => clearInterval(timer))
}

/** The service accepts the cookie of a session only with this header. */
export const consoleHeader = 'x-holt-console'

/** The prefix of the subprotocol that names a WebSocket's session. It cannot have headers. */
export const consoleProtocolPrefix = 'holt.console.'

/** The place of the page's token in the storage of this origin. */
const place = 'holt.page'

/**
 * Returns the token that this origin's pages send with each request: 256 random bits, made once. A
 * session needs it besides its cookie, because a browser sends cookies to every port of a host.
 */
export function pageToken(): string {
  const kept = localStorage.getItem(place)
  if (kept !== null) return kept
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  const token = btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
  localStorage.setItem(place, token)
  return token
}

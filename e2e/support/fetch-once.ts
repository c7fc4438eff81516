/**
 * Sends a request over a connection of its own. A connection that is kept would look like one that
 * the service has leaked.
 */
export const fetchOnce = (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
  const headers = new Headers(init?.headers)
  headers.set('connection', 'close')
  return fetch(input, { ...init, headers })
}

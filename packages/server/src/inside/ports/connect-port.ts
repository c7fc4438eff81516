import type { GuestClient, PortStream } from '@holt/guest-client'

/**
 * The time limit of a connection in the runtime, in milliseconds. It is slow only if the listener's
 * queue is full.
 */
const connectTimeoutMs = 15_000

/**
 * Connects to a program that listens inside. The caller closes the connection, and the signal ends
 * it. With `idles`, the connection by itself is no use of the runtime. Throws `port_not_listening`
 * if nothing listens.
 */
export async function connectPort(
  guest: GuestClient,
  port: number,
  { signal, idles = false }: { readonly signal: AbortSignal; readonly idles?: boolean },
): Promise<PortStream> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(timeoutError()), connectTimeoutMs)
  try {
    const stream = await guest.ports.connect(port, { signal: AbortSignal.any([signal, late.signal]), idles })
    stream.on('error', () => {
      // Its reader gets the error. It may have no reader yet.
    })
    return stream
  } finally {
    clearTimeout(timer)
  }
}

function timeoutError(): DOMException {
  return new DOMException('the port did not answer in time', 'TimeoutError')
}

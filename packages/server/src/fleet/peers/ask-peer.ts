import { once } from 'node:events'
import type { ClientHttp2Stream } from 'node:http2'
import { inTime } from '../../foundation/async/in-time.ts'
import { reset } from './peer-connection.ts'
import { type PeerLinks, Unreachable } from './peer-links.ts'
import { readPeerJson } from './peer-routes.ts'

/** A request between hosts that is answered with JSON. */
interface Question {
  readonly path: string
  readonly json: unknown
  /** The time for connection and answer, in milliseconds. */
  readonly timeoutMs: number
}

/**
 * Asks another host, over its connection for small requests. Throws `Unreachable` if no answer
 * arrives in time, or another one than JSON.
 */
export async function askPeer(links: PeerLinks, hostId: string, { path, json, timeoutMs }: Question): Promise<unknown> {
  let stream: ClientHttp2Stream | null = null
  let isLate = false
  const answered = (async () => {
    stream = await links.request(hostId, 'small', { ':method': 'POST', ':path': path })
    if (isLate) return null
    stream.end(JSON.stringify(json))
    const [{ ':status': status }] = await once(stream, 'response')
    if (status !== 200) throw new Unreachable(`the host answered ${String(status)}`)
    return readPeerJson(stream)
  })()
  // The time may be over before it fails.
  answered.catch(() => {})
  try {
    const answer = await inTime(answered, timeoutMs)
    if (answer === null) throw new Unreachable('the host did not answer in time')
    return answer.value
  } catch (cause) {
    isLate = true
    end(stream)
    throw cause instanceof Unreachable ? cause : new Unreachable('the connection to the host broke', { cause })
  }
}

function end(stream: ClientHttp2Stream | null): void {
  if (stream !== null && !stream.closed && !stream.destroyed) reset(stream)
}

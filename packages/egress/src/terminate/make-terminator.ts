import { type ConnectionToTerminate, RefusedConnection, type Terminator } from '../contract/terminator.ts'
import { UpstreamTls } from '../upstream/upstream-tls.ts'
import { Http1Inside } from './http1/serve-http1.ts'
import { Http2Connection } from './http2/serve-http2.ts'
import { Upstream } from './requests/upstream.ts'
import { secureInside } from './tls/inside-tls.ts'
import { LeafCertificates } from './tls/leaf-certificates.ts'

/** The protocols that can be read here, in order of preference. */
const readable = ['h2', 'http/1.1']

/**
 * Makes the part of the gateway that reads requests inside TLS. Both sides of a connection speak
 * the same protocol. The upstream is asked first, with the program's offer, and the program then
 * gets the upstream's choice. `extraCaPem` is trusted for upstreams besides the system's
 * authorities.
 */
export function makeTerminator(extraCaPem: string | null): Terminator {
  const leaves = new LeafCertificates()
  const tls = new UpstreamTls(extraCaPem)
  const http1 = new Http1Inside()
  return { serve: (connection) => serve(connection, { leaves, tls, http1 }) }
}

interface Parts {
  readonly leaves: LeafCertificates
  readonly tls: UpstreamTls
  readonly http1: Http1Inside
}

async function serve(connection: ConnectionToTerminate, { leaves, tls, http1 }: Parts): Promise<void> {
  const { offeredProtocols } = connection
  const offered = readable.filter((protocol) => offeredProtocols.includes(protocol))
  if (offeredProtocols.length > 0 && offered.length === 0) throw new RefusedConnection('protocol_mismatch')
  const upstream = new Upstream(connection, tls, () => connection.client.destroy())
  const cut = () => connection.client.destroy()
  connection.signal.addEventListener('abort', cut, { once: true })
  try {
    const context = await leaves.get(connection.ca, connection.name)
    const protocols = offered.length === 0 ? ['http/1.1'] : offered
    const protocol = (await upstream.begin(protocols)) ?? protocols.at(-1) ?? 'http/1.1'
    const served = await secureInside(connection.client, { context, protocol, signal: connection.signal }, (socket) => {
      if (protocol === 'h2') return { ended: new Http2Connection(socket, { connection, upstream }).serve() }
      return { ended: http1.serve(socket, { connection, upstream }) }
    })
    await served.ended
  } finally {
    connection.signal.removeEventListener('abort', cut)
    upstream.close()
    connection.client.destroy()
  }
}

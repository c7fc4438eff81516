import { once } from 'node:events'
import { createServer } from 'node:net'
import type { ArrivedConnection } from './records.ts'

/** Raw TCP: a port that echoes, one that says its whole and ends, and canaries that only listen. */
const ports = { echo: 5432, speaks: 5433, canaries: [22, 25, 4444, 8080, 3128] } as const

/** The text that the speaking port sends. */
export const spoken = 'the whole of it\n'

/** Starts the rig's TCP hosts on each address. */
export async function startTcpHosts(
  addresses: readonly string[],
  onConnection: (connection: ArrivedConnection) => void,
): Promise<void> {
  for (const address of addresses) {
    for (const port of [ports.echo, ports.speaks, ...ports.canaries]) {
      const server = createServer({ allowHalfOpen: true }, (socket) => {
        socket.on('error', () => socket.destroy())
        socket.once('data', (first: Buffer) =>
          onConnection({ address, port, first: first.toString('latin1').slice(0, 500) }),
        )
        socket.once('end', () => socket.end())
        if (port === ports.echo) socket.pipe(socket)
        else if (port === ports.speaks) socket.end(spoken)
        else onConnection({ address, port, first: '' })
      })
      server.listen(port, address)
      await once(server, 'listening')
    }
  }
}

import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

const tries = 100

/**
 * Returns a TCP port of 127.0.0.1 that no program listens on. A program can listen on it later, and
 * again. The port is below the range from which the kernel allocates ports (32768 and up, ip(7)),
 * so no other connection gets it meanwhile.
 */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < tries; tried++) {
    const port = randomInt(20_000, 32_000)
    const server = createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch {
      continue // A program listens on this port.
    }
    server.close()
    await once(server, 'close')
    return port
  }
  throw new Error('no free port between 20000 and 32000')
}

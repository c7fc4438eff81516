import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

const tries = 100

/**
 * A TCP port of 127.0.0.1 that nobody listens on, for a program that listens on it later, and
 * perhaps again. It is below the range from which the kernel takes ports by itself (32768 and up,
 * ip(7)): meanwhile no other connection gets it.
 */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < tries; tried++) {
    const port = randomInt(20_000, 32_000)
    const server = createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch {
      continue // Somebody listens on it.
    }
    server.close()
    await once(server, 'close')
    return port
  }
  throw new Error('no free port between 20000 and 32000')
}

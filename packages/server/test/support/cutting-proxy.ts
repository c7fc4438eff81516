import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { onTestFinished } from 'vitest'

/**
 * Starts a TCP proxy that sends the first bytes of each client as packets of the given sizes, and
 * the rest as it comes. It ends with the test.
 */
export async function startCuttingProxy(target: string, sizes: readonly number[]): Promise<{ readonly url: string }> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const proxy = createServer(async (client) => {
    const service = connect({ port: Number(port), host: hostname, noDelay: true })
    for (const socket of [client, service]) sockets.add(socket.on('error', () => socket.destroy()))
    service.pipe(client)
    await once(service, 'connect')
    for (const size of sizes) {
      service.write(await bytesOf(client, size))
      // The service shares this event loop, and reads the packet in the next round.
      await setImmediate()
      await setImmediate()
    }
    client.pipe(service)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
    await once(proxy, 'close')
  })
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` }
}

/** Reads so many bytes from a socket, and leaves the rest in it. */
async function bytesOf(socket: Socket, size: number): Promise<Buffer> {
  for (;;) {
    const bytes: Buffer | null = socket.read(size)
    if (bytes !== null) return bytes
    await once(socket, 'readable')
  }
}

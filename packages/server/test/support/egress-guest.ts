import type { Duplex } from 'node:stream'
import { onTestFinished } from 'vitest'
import { TestGuest } from '../../../egress/test/support/guest.ts'
import type { TestServer } from './start-test-server.ts'

/** The guest of a runtime, dialling its egress socket. */
export async function guestOf({ engine }: Pick<TestServer, 'engine'>, runtimeId: string): Promise<TestGuest> {
  const accept = (socket: Duplex) => {
    const end = engine.dialEgress(runtimeId)
    socket.on('error', () => end.destroy())
    socket.pipe(end).pipe(socket)
    end.once('close', () => socket.destroy())
    socket.once('close', () => end.destroy())
  }
  // Only the way in is needed: what it leads to is the server's own gateway.
  const guest = await TestGuest.start({
    accept,
    update: () => {},
    traffic: { sent: 0, received: 0 },
    openConnections: 0,
    resetConnections: () => {},
    close: () => {},
    test: () => Promise.reject(),
  })
  onTestFinished(() => guest[Symbol.asyncDispose]())
  return guest
}

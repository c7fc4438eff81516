import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type SecureContext, type TLSSocket } from 'node:tls'
import { onTestFinished } from 'vitest'
import { type Frame, FrameReader, frame, frameType } from './raw-http2.ts'

/** The reaction of a raw HTTP/2 server to each frame that it reads. */
export type OnFrame = (seen: Frame, write: (...frames: readonly Buffer[]) => void) => void

const prefaceBytes = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'.length

/**
 * A server of HTTP/2 inside TLS that writes frames as it likes; what is written at once arrives at
 * once.
 */
export async function startRawUpstream(
  context: SecureContext,
  onFrame: OnFrame,
): Promise<{ readonly port: number; readonly frames: readonly Frame[] }> {
  const frames: Frame[] = []
  const open = new Set<TLSSocket>()
  const server = createServer({ SNICallback: (_name, done) => done(null, context), ALPNProtocols: ['h2'] })
  server.on('secureConnection', (socket) => {
    open.add(socket)
    socket.on('error', () => socket.destroy())
    const write = (...written: readonly Buffer[]) => socket.write(Buffer.concat(written))
    write(frame(frameType.settings, 0, 0))
    const reader = new FrameReader(prefaceBytes)
    socket.on('data', (bytes) => {
      for (const seen of reader.read(bytes)) {
        frames.push(seen)
        onFrame(seen, write)
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, frames }
}

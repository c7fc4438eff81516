import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { HoltError, type Runtime } from '@holt/sdk'
import { print, say } from '../output/print.ts'
import { printable } from '../output/visible.ts'
import { Interrupts } from '../verb/interrupts.ts'

/** A local port, and the port of the runtime to which it leads. */
export interface Forwarding {
  /** The local port; 0 for any free one. */
  readonly local: number
  readonly port: number
}

/** Forwards connections from a local port into a runtime, until a signal ends it. */
export async function forwardPort(runtime: Runtime, { local, port }: Forwarding): Promise<number> {
  using interrupts = new Interrupts()
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    carry(runtime, port, socket).catch((error: unknown) => {
      say(`holt: port ${port}: ${printable(error instanceof Error ? error.message : String(error))}`)
      socket.resetAndDestroy()
    })
  })
  const address = await listen(server, local)
  print(`127.0.0.1:${address.port}`)
  say(`Forwarding 127.0.0.1:${address.port} to port ${port} of ${runtime.name ?? runtime.runtime_id}. Ctrl-C ends it.`)
  await new Promise<void>((resolve) => interrupts.passOn(async () => resolve()))
  server.close()
  for (const socket of open) socket.destroy()
  return interrupts.endCode
}

async function carry(runtime: Runtime, port: number, socket: Socket): Promise<void> {
  const gone = new AbortController()
  socket.on('error', () => socket.destroy())
  socket.once('close', () => gone.abort())
  const remote = await runtime.ports.connect(port, { signal: gone.signal })
  remote.on('error', () => socket.resetAndDestroy())
  remote.once('close', () => {
    if (!remote.readableEnded) socket.resetAndDestroy()
  })
  socket.once('close', () => {
    if (!socket.readableEnded || !socket.writableFinished) remote.destroy()
  })
  socket.pipe(remote)
  remote.pipe(socket)
}

function listen(server: Server, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const hint = 'Choose another one: --forward LOCAL:PORT'
      reject(new HoltError('invalid_request', `127.0.0.1:${port} cannot be listened on: ${error.code}`, { hint }))
    })
    server.listen(port, '127.0.0.1', () => resolve(server.address() as AddressInfo))
  })
}

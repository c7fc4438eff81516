// The host that runtimes of the bench reach through the gateway. `/` is a small answer, and
// `/bytes/N` has N bytes.
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'

const chunk = Buffer.alloc(1 << 16, 'x')

const [certificate] = (await once(process, 'message')) as [{ cert: string; key: string }]
const server = createServer(certificate, (request, response) => {
  const bytes = Number(/^\/bytes\/(\d+)$/.exec(request.url ?? '')?.[1] ?? 0)
  if (bytes === 0) response.end('{"answer":42}')
  else
    Readable.from(chunks(bytes))
      .on('error', () => response.destroy())
      .pipe(response)
})
server.on('tlsClientError', () => {}) // A disconnected client is not an error of the host.
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.send?.((server.address() as AddressInfo).port)
process.once('disconnect', () => process.exit())

function* chunks(bytes: number): Generator<Buffer> {
  for (let left = bytes; left > 0; left -= chunk.length) yield left < chunk.length ? chunk.subarray(0, left) : chunk
}

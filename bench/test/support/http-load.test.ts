import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { LoadConnection, load, openConnections, timedGet } from '../../support/http-load.ts'

async function serving(answer: RequestListener): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer(answer)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const target = (port: number) => ({ port, path: '/a', headers: { authorization: 'Bearer key' } })

it('repeats requests on its connections, with the path and the headers', async () => {
  const seen = new Set<unknown>()
  const ports = new Set<unknown>()
  await using server = await serving((request, response) => {
    seen.add(`${request.url} ${request.headers.authorization}`)
    ports.add(request.socket.remotePort)
    response.setHeader('content-length', 5)
    // In two pieces: a client may see half an answer.
    response.write('ab')
    setImmediate(() => response.end('cde'))
  })
  using opened = await openConnections(server.port, 3)
  const operations = await load(opened.connections, target(server.port), { series: 'A', each: 4, bytes: 5 })
  expect(operations.map(({ error }) => error)).toEqual(Array.from({ length: 12 }, () => null))
  expect([...seen]).toEqual(['/a Bearer key'])
  expect(ports.size).toBe(3)
})

it.each([
  ['another status', 503, 'abcde', '503'],
  ['another length', 200, 'abc', 'an answer of 3 bytes, not 5'],
])('counts %s as a failure', async (_, status, body, reason) => {
  await using server = await serving(
    (_request, response) => void response.writeHead(status, { 'content-length': body.length }).end(body),
  )
  using connection = await LoadConnection.open(server.port)
  const { error } = await timedGet(connection, target(server.port), { series: 'A', bytes: 5 })
  expect(error).toContain(reason)
})

it('fails if the connection ends before the answer', async () => {
  await using server = await serving((request) => void request.socket.destroy())
  using connection = await LoadConnection.open(server.port)
  const { error } = await timedGet(connection, target(server.port), { series: 'A', bytes: 5 })
  expect(error).not.toBeNull()
})

import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { fetchOverHttp } from '../../src/connection/fetch-over-http.ts'

afterEach(() => vi.restoreAllMocks())

/** Starts a server for one test. */
async function serve(listener: RequestListener): Promise<URL> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
}

/** Replaces the global fetch, which must not be used. */
const forbidFetch = () => vi.spyOn(globalThis, 'fetch').mockRejectedValue(new Error('the global fetch was used'))
const plain = { redirect: 'error' } as const

test('sends the request, and returns status, headers and text', async () => {
  forbidFetch()
  const url = await serve((request, response) => {
    request.setEncoding('utf8').on('data', (text: string) => {
      response.writeHead(409, { 'X-Request-Id': 'rq1', 'set-cookie': ['a=1', 'b=2'] })
      response.end(`${request.method} ${request.headers['x-key']} ${request.headers['content-length']} ${text} ü`)
    })
  })
  const answer = await fetchOverHttp(url, { ...plain, method: 'POST', headers: { 'x-key': 'k' }, body: 'hé' })
  expect({ status: answer.status, ok: answer.ok }).toEqual({ status: 409, ok: false })
  expect([answer.headers.get('x-request-id'), answer.headers.get('Set-Cookie'), answer.headers.get('none')]).toEqual([
    'rq1',
    'a=1, b=2',
    null,
  ])
  expect(await answer.text()).toBe('POST k 3 hé ü')
})

test('a body is streamed, and closed on a cancel', async () => {
  forbidFetch()
  const closed = Promise.withResolvers<void>()
  const url = await serve((_, response) => {
    response.on('close', () => closed.resolve())
    response.write('first')
  })
  const { body } = await fetchOverHttp(url, plain)
  if (body === null) throw new Error('there is no body')
  for await (const piece of body) {
    expect(new TextDecoder().decode(piece)).toBe('first')
    break
  }
  await body.cancel()
  await closed.promise
})

test.each([
  ['GET', 204],
  ['GET', 304],
  ['HEAD', 200],
  ['DELETE', 200],
])('the connection of a %s answered %i without a body is reused', async (method, status) => {
  forbidFetch()
  const connections = new Set<unknown>()
  const url = await serve((request, response) => {
    connections.add(request.socket)
    response.writeHead(status, status === 200 ? { 'content-length': method === 'HEAD' ? '7' : '0' } : {}).end()
  })
  for (let count = 0; count < 5; count += 1) {
    const answer = await fetchOverHttp(url, { ...plain, method })
    expect(answer.status).toBe(status)
    if (count % 2 === 0) await answer.body?.cancel()
    else expect(await answer.text()).toBe('')
    // The client takes the connection back in a later turn.
    await setImmediate()
  }
  expect(connections.size).toBe(1)
})

test('a body that breaks off fails like that of the global fetch', async () => {
  const url = await serve((_, response) => {
    response.writeHead(200, { 'content-length': '10' })
    response.write('half', () => response.destroy())
  })
  await expect((await fetchOverHttp(url, plain)).text()).rejects.toThrow(TypeError)
  await expect((await fetch(url, plain)).text()).rejects.toThrow(TypeError)
})

test('a missing server fails like with the global fetch', async () => {
  const url = await serve(() => {})
  const gone = new URL('http://127.0.0.1:2/')
  const refused = { name: 'TypeError', cause: { code: 'ECONNREFUSED' } }
  await expect(fetchOverHttp(gone, plain)).rejects.toMatchObject(refused)
  await expect(fetch(gone, plain)).rejects.toMatchObject(refused)
  expect(url.port).not.toBe('2')
})

test('a signal ends a request before its answer, and a body after it', async () => {
  forbidFetch()
  const url = await serve((request, response) => {
    if (request.url === '/body') response.write('x')
  })
  const before = new AbortController()
  const waiting = fetchOverHttp(url, { ...plain, signal: before.signal })
  before.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  const after = new AbortController()
  const answer = await fetchOverHttp(new URL('/body', url), { ...plain, signal: after.signal })
  const reading = answer.text()
  after.abort()
  await expect(reading).rejects.toThrow()
})

test('a redirect is an error on request', async () => {
  forbidFetch()
  const url = await serve((_, response) => response.writeHead(302, { location: '/elsewhere' }).end())
  await expect(fetchOverHttp(url, plain)).rejects.toThrow(TypeError)
})

test.each<[string, string, RequestInit]>([
  ['TLS', 'https://127.0.0.1:2/', plain],
  ['a body that is a stream', 'http://127.0.0.1:2/', { ...plain, method: 'PUT', body: new Blob(['x']) }],
  ['redirects that are not errors', 'http://127.0.0.1:2/', { redirect: 'manual' }],
  ['an object of headers', 'http://127.0.0.1:2/', { ...plain, headers: new Headers({ a: 'b' }) }],
])('%s is left to the global fetch', async (_, url, init) => {
  const global = vi.spyOn(globalThis, 'fetch').mockResolvedValue(new Response('global'))
  expect(await (await fetchOverHttp(new URL(url), init)).text()).toBe('global')
  expect(global).toHaveBeenCalledOnce()
})

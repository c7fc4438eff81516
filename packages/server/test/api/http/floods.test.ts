import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { makeId } from '@holt/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { bytesInUse } from '../../../../async/test/support/pieces.ts'
import { connectionLimits } from '../../../src/foundation/config/connection-limits.ts'
import { BodyRoom } from '../../../src/tenancy/limits/body-room.ts'
import { freeBytes } from '../../../src/tenancy/limits/kept-memory.ts'
import { startTestServer } from '../../support/start-test-server.ts'

const mib = 2 ** 20

/** Writes bytes over a connection of their own, which stays open. */
async function say(url: string, bytes: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {}) // It may be cut.
  onTestFinished(() => void socket.destroy())
  await new Promise<void>((resolve) => socket.once('connect', resolve))
  socket.write(bytes)
  return socket
}

test('a project has a limit of concurrent requests, and other projects are served', async () => {
  const limits = { ...connectionLimits, maxRequestsPerProject: 3 }
  const { server, ask } = await startTestServer({ limits })
  const head = `Host: x\r\nAuthorization: Bearer ${server.adminKey}\r\nContent-Type: application/json\r\nContent-Length: 10`
  const request = `POST /v1/agents/runtime HTTP/1.1\r\n${head}\r\n\r\n{`
  const sockets = await Promise.all([1, 2, 3].map(() => say(server.url, request)))
  await expect.poll(async () => (await ask('GET', '/v1/agents/runtime')).status).toBe(429)
  const refused = await ask('GET', '/v1/agents/runtime')
  expect(refused.json.error).toMatchObject({ code: 'rate_limited', details: { limit: 3 } })
  expect(Object.fromEntries(refused.headers)).toMatchObject({
    'retry-after': '1',
    'ratelimit-limit': '3',
    'ratelimit-remaining': '0',
    'ratelimit-reset': '1',
  })
  expect((await ask('GET', '/healthz')).status).toBe(200)
  for (const socket of sockets) socket.destroy()
  await expect.poll(async () => (await ask('GET', '/v1/agents/runtime')).status).toBe(200)
})

test('the bytes of bodies are limited for a project and in total, and are released', () => {
  const room = new BodyRoom()
  for (let taken = 0; taken < 16; taken += 1) room.take('a', 4 * mib)
  expect(() => room.take('a', 1)).toThrow(expect.objectContaining({ code: 'rate_limited' }))
  for (let taken = 0; taken < 16; taken += 1) room.take('b', 4 * mib)
  expect(() => room.take('c', 1)).toThrow(expect.objectContaining({ code: 'unavailable' }))
  room.give('a', 4 * mib)
  room.take('c', 4 * mib)
  expect(() => room.take('a', 1)).toThrow()
  for (let given = 0; given < 15; given += 1) room.give('a', 4 * mib)
  expect(() => room.take('a', 60 * mib)).not.toThrow()
})

test('bodies that stop arriving release their bytes', async () => {
  const { server, ask } = await startTestServer()
  const head = `Host: x\r\nAuthorization: Bearer ${server.adminKey}\r\nContent-Type: application/json\r\nContent-Length: ${4 * mib}`
  const part = 'x'.repeat(3.9 * mib)
  const send = () =>
    Promise.all(
      Array.from({ length: 18 }, () => say(server.url, `POST /v1/agents/runtime HTTP/1.1\r\n${head}\r\n\r\n"${part}`)),
    )
  for (let round = 0; round < 2; round += 1) {
    const sockets = await send()
    const refused = async (socket: Socket) => expect(await firstLine(socket)).toMatch(/^HTTP\/1\.1 429 /)
    await Promise.any(sockets.map(refused)) // So the room is full.
    for (const socket of sockets) socket.destroy()
    await expect.poll(async () => (await ask('POST', '/v1/agents/runtime', { json: {} })).status).toBe(201)
  }
}, 60_000)

/** Returns the first line of what comes; null if the connection is closed before. */
function firstLine(socket: Socket): Promise<string | null> {
  return new Promise((resolve) => {
    socket.once('data', (data) => resolve(String(data).split('\r\n', 1)[0] ?? null))
    socket.once('close', () => resolve(null))
  })
}

test('all headers are read, however many there are', async () => {
  const { server } = await startTestServer()
  const many = Array.from({ length: 2_500 }, (_, n) => `a${n % 10}:`).join('\r\n')
  const socket = await say(
    server.url,
    `GET /v1/agents/runtime HTTP/1.1\r\nHost: x\r\n${many}\r\nAuthorization: Bearer ${server.adminKey}\r\n\r\n`,
  )
  expect(await firstLine(socket)).toBe('HTTP/1.1 200 OK')
})

test('results and bodies of unfinished requests share one limit, and small ones do not count', async () => {
  const { makeRuntime, ask } = await startTestServer()
  const commands = `/v1/agents/runtime/${await makeRuntime()}/commands`
  const metadata = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`n${n}`, 'x'.repeat(1000)]))
  const other = `/v1/agents/runtime/${await makeRuntime({ metadata })}`
  const once = () =>
    ask('POST', `${other}/commands`, { json: { command: 'fill 100000' }, headers: { 'idempotency-key': 'once' } })
  expect((await once()).status).toBe(200)
  const lines = `${'x'.repeat(100)}\n`.repeat(1000)
  await ask('PUT', `${other}/files/content?path=/workspace/lines`, { body: lines })
  const search = (pattern: string) =>
    ask('POST', `${other}/files/search`, { json: { path: '/workspace', content: { pattern } } })
  expect((await search('x')).json.data).toHaveLength(1000)
  const leave = new AbortController()
  const large = (command: string, signal = new AbortController().signal) =>
    ask('POST', commands, { json: { command, stdin: 'x'.repeat(mib - 1), timeout_secs: 0 }, signal })
  const wait = { timeout: 20_000 }
  const held = []
  for (let count = 1; count <= 65; count += 1) {
    held.push(large('sleep 1000', leave.signal).catch(() => null)) // Its client leaves.
    if (count % 13 === 0)
      await expect.poll(async () => (await ask('GET', `${commands}?limit=100`)).json.data.length, wait).toBe(count)
  }
  expect((await large('sleep 1000')).json.error.code).toBe('rate_limited')
  // Of whatever can be asked for again as well: many answers may wait for clients who read nothing.
  for (const again of [() => ask('GET', '/v1/agents/runtime'), once, () => search('x')]) {
    const { status, json } = await again()
    expect([status, json.error.code]).toEqual([429, 'rate_limited'])
  }
  expect((await search('y')).status).toBe(200)
  expect((await ask('GET', '/v1/agents/key')).status).toBe(200)
  const filled = (await ask('POST', commands, { json: { command: 'fill 3000000', max_output_bytes: 3_000_000 } })).json
  expect(filled).toMatchObject({ stdout_bytes: 3_000_000, truncated: { stdout: true, stderr: false } })
  expect(filled.stdout.length).toBe(freeBytes)
  expect((await ask('POST', commands, { json: { command: 'echo hello' } })).json.stdout).toBe('hello\n')
  leave.abort()
  await Promise.all(held)
  await expect.poll(async () => (await large('true')).status, wait).toBe(200)
  expect((await ask('GET', '/v1/agents/runtime')).json.data).toHaveLength(2)
  expect((await once()).headers.get('idempotent-replayed')).toBe('true')
  expect((await search('x')).json.data).toHaveLength(1000)
}, 60_000)

/** Counts the requests whose answers have ended, or whose clients have left. */
function countClosed(): () => number {
  let closed = 0
  const watch = (message: unknown) => {
    const { response } = message as { response: ServerResponse }
    response.once('close', () => {
      closed += 1
    })
  }
  subscribe('http.server.request.start', watch)
  onTestFinished(() => void unsubscribe('http.server.request.start', watch))
  return () => closed
}

test('a request that waits for a runtime ends and releases its bytes when its client disconnects', async () => {
  const written = Promise.withResolvers<void>()
  let pauses = false
  const engine = new FakeEngine({
    before: async (verb) => {
      if (pauses && verb === 'take') await written.promise
    },
  })
  const limits = { ...connectionLimits, maxRequestsPerProject: 100 }
  const { ask, makeRuntime } = await startTestServer({ engine, limits })
  onTestFinished(() => written.resolve())
  const runtime = `/v1/agents/runtime/${await makeRuntime()}`
  pauses = true
  const pausing = ask('POST', `${runtime}/pause`, { json: {} })
  await expect.poll(async () => (await ask('GET', runtime)).json.state).toBe('pausing')
  const leave = new AbortController()
  const command = (stdin: string, signal = new AbortController().signal) =>
    ask('POST', `${runtime}/commands`, { json: { command: 'true', stdin }, signal })
  const large = 'x'.repeat(mib - 1)
  const closed = countClosed()
  const waiting = Array.from({ length: 66 }, () => command(large, leave.signal).catch(() => null))
  await expect.poll(closed, { timeout: 20_000 }).toBeGreaterThanOrEqual(1) // One was refused, so the room is full.
  leave.abort()
  await Promise.all(waiting)
  await expect.poll(closed).toBe(66)
  // A body counts until its turn to be read has come. A command for no runtime needs the same room,
  // and waits for nothing.
  const statuses = async () => {
    const json = { command: 'true', stdin: large }
    const forNone = () => ask('POST', `/v1/agents/runtime/${makeId('runtime')}/commands`, { json })
    return (await Promise.all([forNone(), forNone()])).map(({ status }) => status)
  }
  await expect.poll(statuses, { timeout: 20_000 }).toEqual([404, 404])
  const next = command(large)
  // Those with little to say count while they wait.
  const leaveToo = new AbortController()
  const small = Array.from({ length: 100 }, () => command('', leaveToo.signal).catch(() => null))
  await expect.poll(async () => (await ask('GET', runtime)).status).toBe(429)
  leaveToo.abort()
  await Promise.all(small)
  await expect.poll(async () => (await ask('GET', runtime)).json.state).toBe('pausing')
  written.resolve()
  await pausing
  expect((await next).status).toBe(200)
}, 60_000)

test('the rest of an unread body stays with the client, and the connection closes', async () => {
  const { server } = await startTestServer()
  const pourInto = async (line: string) => {
    const socket = await say(server.url, `${line} HTTP/1.1\r\nHost: x\r\nContent-Length: ${2 ** 40}\r\n\r\n`)
    const piece = Buffer.alloc(mib)
    const pour = () => {
      // Far more than what the kernel keeps of a connection.
      while (socket.bytesWritten < 100 * mib && socket.write(piece));
    }
    socket.on('drain', pour)
    pour()
    const closed = new Promise((resolve) => socket.once('close', resolve))
    const answer = await firstLine(socket)
    await closed
    return [answer, socket.bytesWritten - socket.writableLength < 50 * mib]
  }
  // A wrong key, a port without one, and no route.
  const lines = ['POST /v1/agents/runtime', 'POST /v1/agents/runtime/rt0/ports/80/proxy/', 'POST /nothing']
  const refusals = ['HTTP/1.1 401 Unauthorized', 'HTTP/1.1 401 Unauthorized', 'HTTP/1.1 404 Not Found']
  expect(await Promise.all(lines.map(pourInto))).toEqual(refusals.map((refusal) => [refusal, true]))
}, 60_000)

test('bodies in chunks of one byte behind unread answers use little more memory than their bytes', async () => {
  const { server } = await startTestServer()
  let begun = 0
  const count = () => {
    begun += 1
  }
  subscribe('http.server.request.start', count)
  onTestFinished(() => void unsubscribe('http.server.request.start', count))
  const [sockets, chunks] = [8, 15_000]
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
  const body = `POST /nothing HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(chunks)}0\r\n\r\n`
  /**
   * Sends it behind answers that fill the connection. When the request after it has begun, all of
   * it has been taken in.
   */
  const sendAll = async (bytes: string) => {
    for (let n = 0; n < sockets; n += 1) {
      const before = begun
      const socket = await say(server.url, get('/openapi.json').repeat(20) + bytes + get('/healthz'))
      socket.pause()
      await expect.poll(() => begun - before).toBe(bytes === '' ? 21 : 22)
    }
    return bytesInUse()
  }
  const before = await sendAll('')
  const grown = (await sendAll(body)) - before
  expect(grown / (sockets * chunks), 'bytes for each of one').toBeLessThan(100)
})

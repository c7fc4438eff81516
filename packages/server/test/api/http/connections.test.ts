import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { Connections, recognise } from '../../../src/api/http/connections.ts'
import { type ConnectionLimits, connectionLimits, limitsFor } from '../../../src/foundation/config/connection-limits.ts'
import type { DropReason } from '../../../src/foundation/metrics/http-metrics.ts'

/**
 * A server that answers, takes a visitor for a client with a key, and keeps others waiting:
 * whatever the path says.
 */
async function start(limits: Partial<ConnectionLimits>) {
  const waiting: (() => void)[] = []
  const answer: RequestListener = (request, response) => {
    if (request.url === '/known' || request.url === '/wait') recognise(request.socket, 'project')
    if (request.url?.startsWith('/of/')) recognise(request.socket, request.url)
    if (request.url === '/lent') connections.lend(request.socket)
    if (request.url === '/wait') waiting.push(() => response.end('waited'))
    else response.end(request.url === '/large' ? Buffer.alloc(64 * 2 ** 20) : 'answered')
  }
  const server = createServer()
  const dropped: DropReason[] = []
  const connections = new Connections(
    server,
    { ...connectionLimits, ...limits },
    {
      onDrop: (why) => dropped.push(why),
      likelyProject: ({ url }) => (url === '/likely' ? 'project' : null),
    },
  )
  server.on('upgrade', (_request, socket) => {
    socket.on('error', () => {}).write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
    onTestFinished(() => void socket.destroy())
  })
  const seen = { requests: 0 }
  server.on('request', (request, response) => {
    seen.requests += 1
    connections.answerInOrder(request, response, () => answer(request, response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { connections, waiting, dropped, seen, open: (from?: string) => open(port, from) }
}

interface Client {
  readonly socket: Socket
  /** Resolves when the connection is closed, by whomever. */
  readonly closed: Promise<void>
  ask(path: string): Promise<string>
}

/** Connects from an address of loopback; each of them is a peer of its own. */
async function open(port: number, localAddress = '127.0.0.1'): Promise<Client> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.on('error', () => {}) // A connection that is cut is what is tested.
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await new Promise<void>((resolve) => socket.once('connect', resolve).once('close', resolve))
  onTestFinished(() => void socket.destroy())
  const ask = (path: string) => {
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    return Promise.race([
      new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data)))),
      closed.then(() => 'closed'),
    ])
  }
  return { socket, closed, ask }
}

test('at the limit, the oldest unknown connection is closed and the newest client is served', async () => {
  const { connections, open } = await start({ maxConnections: 3, maxStrangers: 100 })
  const [first, ...others] = [await open(), await open(), await open()]
  const newest = await open()
  expect(await newest.ask('/')).toContain('answered')
  await first?.closed
  for (const each of others) expect(await each.ask('/')).toContain('answered')
  expect(connections.size).toBe(3)
})

test('unknown connections have a smaller share than clients that have sent a key', async () => {
  const { connections, open } = await start({ maxConnections: 100, maxStrangers: 2 })
  const known = []
  for (let count = 0; count < 3; count += 1) {
    const client = await open()
    expect(await client.ask('/known')).toContain('answered')
    known.push(client)
  }
  const strangers = [await open(), await open(), await open()]
  await strangers[0]?.closed
  for (const each of [...known, ...strangers.slice(1)]) expect(await each.ask('/')).toContain('answered')
  expect(connections.size).toBe(5)
})

test('the address with the most connections loses one', async () => {
  const { open } = await start({ maxConnections: 4, maxStrangers: 100 })
  const alone = await open('127.0.0.2')
  const many = [await open('127.0.0.3'), await open('127.0.0.3'), await open('127.0.0.3')]
  const next = await open('127.0.0.4')
  await many[0]?.closed
  for (const each of [alone, next, ...many.slice(1)]) expect(await each.ask('/')).toContain('answered')
})

test('a connection with a key is closed only if there is no unknown one, the longest idle first', async () => {
  const { open } = await start({ maxConnections: 3, maxStrangers: 100 })
  const [first, second] = [await open(), await open()]
  await first.ask('/known')
  await second.ask('/known')
  await first.ask('/known')
  const stranger = await open()
  const third = await open()
  await stranger.closed
  await third.ask('/known')
  const fourth = await open()
  await second.closed
  expect(await first.ask('/')).toContain('answered')
  expect(await fourth.ask('/')).toContain('answered')
})

test('of the clients with a key, the project with the most idle connections loses one', async () => {
  const { connections, dropped, open } = await start({ maxConnections: 4, maxStrangers: 100 })
  const alone = await open()
  await alone.ask('/of/one')
  const many = [await open(), await open(), await open()]
  for (const each of many) await each.ask('/of/other')
  const next = await open()
  await many[0]?.closed
  await next.ask('/of/other')
  await (await open()).ask('/of/other')
  await many[1]?.closed
  expect(await alone.ask('/')).toContain('answered')
  await expect.poll(() => connections.counts).toEqual({ stranger: 0, resting: 4, busy: 0 })
  expect(dropped).toEqual(['connections', 'connections'])
})

test('an upgrade behind an unanswered request stays an upgrade', async () => {
  const { connections, waiting, open } = await start({ maxConnections: 2, maxStrangers: 100 })
  const upgraded = await open()
  upgraded.socket.write('GET /wait HTTP/1.1\r\nHost: x\r\n\r\n')
  await expect.poll(() => waiting.length).toBe(1)
  upgraded.socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
  await new Promise((resolve) => upgraded.socket.once('data', resolve))
  waiting[0]?.()
  const known = await open()
  await known.ask('/known')
  await expect.poll(() => connections.counts).toEqual({ stranger: 0, resting: 1, busy: 1 })
  const next = await open()
  await known.closed
  expect(await next.ask('/')).toContain('answered')
  expect(upgraded.socket.closed).toBe(false)
})

test('a waiting request is not dropped; if all connections wait, the newest is refused', async () => {
  const { waiting, open } = await start({ maxConnections: 2, maxStrangers: 100 })
  const [first, second] = [await open(), await open()]
  const answers = [first.ask('/wait'), second.ask('/wait')]
  await expect.poll(() => waiting.length).toBe(2)
  expect(await (await open()).ask('/')).toBe('closed')
  for (const answer of waiting) answer()
  for (const answer of answers) expect(await answer).toContain('waited')
})

test('a connection that was borrowed is ordinary again after its answer', async () => {
  const { open } = await start({ maxConnections: 2, maxStrangers: 100 })
  const [first, second] = [await open(), await open()]
  await first.ask('/lent')
  await second.ask('/')
  const third = await open()
  await first.closed
  expect(await third.ask('/')).toContain('answered')
})

test('a connection with too many pipelined requests is closed', async () => {
  const { connections, open } = await start({ maxPipelined: 5 })
  const client = await open()
  client.socket.write('GET /wait HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(200))
  await client.closed
  await expect.poll(() => connections.size).toBe(0)
  const polite = await open()
  polite.socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(5))
  polite.socket.end()
  expect((await text(polite.socket)).split('answered')).toHaveLength(6)
})

test('requests after the one that closes the connection are not handled', async () => {
  const { seen, open } = await start({ maxPipelined: 5 })
  const client = await open()
  client.socket.write('GET /wait HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1_000))
  await client.closed
  expect(seen.requests).toBe(6)
  expect(await (await open()).ask('/')).toContain('answered')
})

test('with very many waiting requests in total, each connection may have only a few', async () => {
  const { connections, waiting, open } = await start({ maxWaiting: 10, maxPipelinedInCrowd: 2 })
  const ask = (count: number) => 'GET /wait HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(count)
  const [patient, polite, greedy] = [await open(), await open(), await open()]
  patient.socket.write(ask(11))
  await expect.poll(() => waiting.length).toBe(1)
  polite.socket.write(ask(2))
  await expect.poll(() => waiting.length).toBe(2)
  greedy.socket.write(ask(3))
  await greedy.closed
  expect(connections.size).toBe(2)
  patient.socket.destroy()
  await expect.poll(() => connections.size).toBe(1)
  const next = await open()
  next.socket.write(ask(8))
  await expect.poll(() => waiting.length).toBeGreaterThan(2)
  expect(next.socket.closed).toBe(false)
})

test('pipelined requests are answered in order', async () => {
  const { waiting, open } = await start({})
  const client = await open()
  client.socket.write('GET /wait HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(3))
  for (let count = 1; count <= 3; count += 1) {
    await expect.poll(() => waiting.length).toBe(count)
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(waiting).toHaveLength(count)
    waiting.at(-1)?.()
  }
  client.socket.end()
  expect((await text(client.socket)).split('waited')).toHaveLength(4)
})

test('under load, a request with a likely valid key queues with its project, not with unknown clients', async () => {
  const { open } = await start({ maxStrangers: 100 })
  const strangers: Client[] = []
  for (let count = 0; count < 80; count += 1) strangers.push(await open())
  const client = await open()
  const answered: string[] = []
  const askAll = async (last: string) => {
    answered.length = 0
    const note = (name: string) => () => void answered.push(name)
    await Promise.all([
      ...strangers.map((each) => each.ask('/').then(note('stranger'))),
      client.ask(last).then(note(last)),
    ])
  }
  await askAll('/')
  expect(answered.indexOf('/')).toBe(80)
  // Eight begin in a turn of the event loop, and what was written in one breath may be read in
  // several.
  await askAll('/likely')
  expect(answered.indexOf('/likely')).toBeLessThan(40)
})

test('a client that never reads its answer is disconnected, and a slow reader is not', async () => {
  const { connections, dropped, seen, open } = await start({ unreadTimeoutMs: 400 })
  const deaf = await open()
  deaf.socket.pause()
  deaf.socket.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n')
  await expect.poll(() => seen.requests, { timeout: 10_000 }).toBe(1)
  const late = await open()
  await expect.poll(() => dropped, { timeout: 10_000 }).toEqual(['unread'])
  expect(await late.ask('/')).toContain('answered')
  expect(connections.size).toBe(1)
})

test('connections leave file descriptors for the service itself', () => {
  expect(limitsFor(null)).toEqual(connectionLimits)
  expect(limitsFor(1_000_000)).toEqual(connectionLimits)
  expect(limitsFor(1024)).toMatchObject({ maxConnections: 512, maxStrangers: 128, maxRequestsPerProject: 256 })
  expect(limitsFor(8).maxConnections).toBe(16)
})

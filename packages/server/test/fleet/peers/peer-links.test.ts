import { connect, createServer, type Socket } from 'node:net'
import { makeId } from '@holt/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { PeerConnection } from '../../../src/fleet/peers/peer-connection.ts'
import { Unreachable } from '../../../src/fleet/peers/peer-links.ts'
import type { PeerStream } from '../../../src/fleet/peers/peer-listener.ts'
import { linksOf, never, newAuthority, startListener, TestDirectory } from '../../support/test-hosts.ts'

const how = { headers: { ':protocol': 'test' }, signal: never }

/** A listener whose accepted connections a test holds. */
async function startHolding(accept: (stream: PeerStream) => void = ({ stream }) => stream.respond({ ':status': 200 })) {
  const authority = await newAuthority()
  const directory = new TestDirectory()
  const connections: PeerConnection[] = []
  const started = await startListener(authority, directory, async (asked) => {
    accept(asked)
    const connection = new PeerConnection(asked.stream)
    connection.on('error', () => {})
    connections.push(connection)
  })
  return { authority, directory, connections, ...started }
}

/** Waits until a connection is closed, also by an error. */
function closeOf(connection: PeerConnection): Promise<void> {
  return new Promise((resolve) => connection.once('close', () => resolve()))
}

async function openTo(links: Awaited<ReturnType<typeof linksOf>>, hostId: string, kind: 'small' | 'bytes' = 'small') {
  const opened = await links.open(hostId, kind, how)
  if (opened.type !== 'open') throw new Error(`it was refused with ${opened.status}`)
  opened.connection.on('error', () => {})
  return opened.connection
}

test('a host has one connection for small requests and one for bytes', async () => {
  const { authority, directory, hostId, listener } = await startHolding()
  const links = await linksOf(authority, directory)
  await Promise.all(Array.from({ length: 10 }, () => openTo(links, hostId)))
  expect(listener.size).toBe(1)
  await openTo(links, hostId, 'bytes')
  expect(listener.size).toBe(2)
  expect(links.size).toBe(2)
})

test('a refusal has its status and headers', async () => {
  const { authority, directory, hostId } = await startHolding(({ stream }) =>
    stream.respond({ ':status': 421, 'holt-owner': 'other' }, { endStream: true }),
  )
  const links = await linksOf(authority, directory)
  expect(await links.open(hostId, 'small', how)).toMatchObject({
    type: 'refused',
    status: 421,
    headers: { 'holt-owner': 'other' },
  })
})

test('a host that never accepts is unreachable after a time, and its stream is reset', async () => {
  const { authority, directory, hostId, connections } = await startHolding(() => {})
  const links = await linksOf(authority, directory, { times: { acceptMs: 100 } })
  await expect(links.open(hostId, 'small', how)).rejects.toThrow(Unreachable)
  await expect.poll(() => connections[0]?.destroyed).toBe(true)
})

/** Starts a host that accepts connections and says nothing. Returns links to it. */
async function startSilent(times?: NonNullable<Parameters<typeof linksOf>[2]>['times']) {
  const sockets: Socket[] = []
  const silent = createServer((socket) => void sockets.push(socket.on('error', () => {})))
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  const directory = new TestDirectory()
  const hostId = makeId('host')
  directory.put(hostId, (silent.address() as { port: number }).port)
  return { hostId, sockets, links: await linksOf(await newAuthority(), directory, times ? { times } : {}) }
}

test('a host that accepts connections and says nothing is unreachable after a time', async () => {
  const { hostId, links } = await startSilent({ connectMs: 100 })
  await expect(links.open(hostId, 'small', how)).rejects.toThrow(Unreachable)
  expect(links.size).toBe(0)
})

test('a caller that leaves does not wait for a connection, which others may wait for', async () => {
  const { hostId, links, sockets } = await startSilent({ connectMs: 60_000 })
  const leaving = new AbortController()
  const left = links.open(hostId, 'small', { ...how, signal: leaving.signal })
  await expect.poll(() => sockets.length).toBe(1)
  leaving.abort(new Error('the caller left'))
  await expect(left).rejects.toThrow('the caller left')
  expect(links.size).toBe(1)
})

test('a host that is not in the directory, is gone or refuses connections is unreachable', async () => {
  const directory = new TestDirectory()
  const links = await linksOf(await newAuthority(), directory)
  const hostId = makeId('host')
  await expect(links.open(hostId, 'small', how)).rejects.toThrow('gone')
  directory.put(hostId, 1)
  await expect(links.open(hostId, 'small', how)).rejects.toThrow(Unreachable)
  directory.put(hostId, 1, { isGone: true })
  await expect(links.open(hostId, 'small', how)).rejects.toThrow('gone')
})

test('a host that stops answering pings loses its streams', async () => {
  const { authority, directory, hostId, port } = await startHolding()
  // A proxy that passes bytes until it is told to keep them.
  let passes = true
  const sockets: Socket[] = []
  const proxy = createServer((socket) => {
    const other = connect(port, '127.0.0.1')
    for (const each of [socket, other]) sockets.push(each.on('error', () => {}))
    socket.on('data', (bytes) => passes && other.write(bytes))
    other.on('data', (bytes) => passes && socket.write(bytes))
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  })
  directory.put(hostId, (proxy.address() as { port: number }).port)
  const links = await linksOf(authority, directory, { times: { pingMs: 50 } })
  const connection = await openTo(links, hostId)
  const closed = closeOf(connection)
  passes = false
  await closed
  expect(connection.errored).not.toBe(null)
})

test('a connection at rest is closed, and the next request opens another', async () => {
  const { authority, directory, hostId, listener } = await startHolding()
  const links = await linksOf(authority, directory, { times: { idleMs: 100 } })
  const connection = await openTo(links, hostId)
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(links.size).toBe(1)
  connection.destroy()
  await expect.poll(() => links.size).toBe(0)
  await expect.poll(() => listener.size).toBe(0)
  await openTo(links, hostId)
  expect(links.size).toBe(1)
})

test('a host that has moved to another address is reached there', async () => {
  const one = await startHolding()
  const links = await linksOf(one.authority, one.directory)
  await openTo(links, one.hostId)
  const other = await startListener(one.authority, one.directory, async ({ stream }) =>
    stream.respond({ ':status': 200 }),
  )
  // The other listener has another name.
  one.directory.put(one.hostId, other.port)
  await expect(links.open(one.hostId, 'small', how)).rejects.toThrow(Unreachable)
  one.directory.put(one.hostId, one.port)
  await openTo(links, one.hostId)
})

test('a side that breaks off is an error at the other, and an end is an end', async () => {
  const { authority, directory, hostId, connections } = await startHolding()
  const links = await linksOf(authority, directory)
  for (const isEnd of [true, false]) {
    const connection = await openTo(links, hostId)
    const owner = connections.at(-1) as PeerConnection
    const seen: string[] = []
    connection.on('end', () => seen.push('end')).on('error', () => seen.push('error'))
    const closed = closeOf(connection)
    connection.resume()
    if (isEnd) {
      owner.resume().end('all')
      connection.end()
    } else {
      owner.write('some')
      owner.destroy()
    }
    await closed
    expect(seen).toEqual([isEnd ? 'end' : 'error'])
  }
})

test('a client that breaks off ends the stream at the owner, also after very many', async () => {
  const { authority, directory, hostId, connections, listener } = await startHolding()
  const links = await linksOf(authority, directory)
  const kept = await openTo(links, hostId)
  for (let round = 0; round < 30; round += 1) {
    const opened = await Promise.all(Array.from({ length: 50 }, () => openTo(links, hostId)))
    for (const connection of opened) connection.destroy()
  }
  // nghttp2 cuts a connection after 1,000 quick resets.
  expect(kept.destroyed).toBe(false)
  expect(listener.size).toBe(1)
  const [first, ...others] = connections as [PeerConnection, ...PeerConnection[]]
  expect(first.destroyed).toBe(false)
  for (const each of others) each.resume()
  await expect.poll(() => others.filter(({ readableEnded, destroyed }) => !readableEnded && !destroyed).length).toBe(0)
})

test('a reader that takes nothing stops its own stream, and no other', async () => {
  const { authority, directory, hostId, connections } = await startHolding()
  const links = await linksOf(authority, directory)
  const slow = await Promise.all(Array.from({ length: 20 }, () => openTo(links, hostId, 'bytes')))
  const chunk = Buffer.alloc(64 * 1024)
  const pushed = await Promise.all(
    connections.map(async (owner) => {
      let bytes = 0
      while (bytes < 64 * 2 ** 20) {
        bytes += chunk.length
        const isTaken = await Promise.race([
          new Promise<boolean>((resolve) => owner.write(chunk, () => resolve(true))),
          new Promise<boolean>((resolve) => setTimeout(resolve, 500, false)),
        ])
        if (!isTaken) break
      }
      return bytes
    }),
  )
  // A window of a MiB, and what waits at both ends.
  for (const bytes of pushed) expect(bytes).toBeLessThan(2 * 2 ** 20)
  const quick = await openTo(links, hostId, 'bytes')
  const owner = connections.at(-1) as PeerConnection
  owner.end('quick')
  quick.end()
  owner.resume()
  expect(String(Buffer.concat(await quick.toArray()))).toBe('quick')
  for (const connection of slow) connection.destroy()
})

import { once } from 'node:events'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { CertifiedKey } from '@holt/egress'
import { signLeaf } from '@holt/egress'
import { makeId } from '@holt/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { type HostCredentials, peerNameOf, signHostCertificate } from '../../../src/fleet/peers/host-certificate.ts'
import { PeerConnection } from '../../../src/fleet/peers/peer-connection.ts'
import { Unreachable } from '../../../src/fleet/peers/peer-links.ts'
import type { PeerStream } from '../../../src/fleet/peers/peer-listener.ts'
import { certificateOf, linksOf, never, newAuthority, startListener, TestDirectory } from '../../support/test-hosts.ts'

const headers = { ':protocol': 'test' }

/** Accepts a stream and sends back what arrives. */
async function echo({ stream }: PeerStream): Promise<void> {
  stream.respond({ ':status': 200 })
  const connection = new PeerConnection(stream)
  connection.on('error', () => {}).pipe(connection)
}

async function startEcho() {
  const authority = await newAuthority()
  const directory = new TestDirectory()
  return { authority, directory, ...(await startListener(authority, directory, echo)) }
}

/** Opens a connection of HTTP/2 with any certificate. */
function session(port: number, hostId: string, credentials: Partial<HostCredentials>): ClientHttp2Session {
  const opened = connectHttp2(`https://${peerNameOf(hostId)}`, {
    createConnection: () =>
      connectTls({ host: '127.0.0.1', port, servername: peerNameOf(hostId), ALPNProtocols: ['h2'], ...credentials }),
  })
  opened.on('error', () => {})
  onTestFinished(() => opened.destroy())
  return opened
}

/** Resolves with true if a stream of a new connection is answered. */
async function isServed(port: number, hostId: string, credentials: Partial<HostCredentials>): Promise<boolean> {
  const opened = session(port, hostId, credentials)
  const stream = opened.request({ ':path': '/' })
  stream.on('error', () => {})
  return Promise.race([
    once(stream, 'response').then(
      () => true,
      () => false,
    ),
    once(stream, 'close').then(() => false),
    once(opened, 'close').then(() => false),
  ])
}

test('a host of the fleet is served over TLS 1.3, and learns which host it reached', async () => {
  const { authority, directory, hostId } = await startEcho()
  const links = await linksOf(authority, directory)
  const opened = await links.open(hostId, 'small', { headers, signal: never })
  if (opened.type !== 'open') throw new Error('it was refused')
  opened.connection.end('hello')
  expect(String(Buffer.concat(await opened.connection.toArray()))).toBe('hello')
})

test('a client without a certificate is refused', async () => {
  const { authority, port, hostId } = await startEcho()
  expect(await isServed(port, hostId, { ca: authority.certificatePem })).toBe(false)
})

test('a certificate of another authority with the same names is refused', async () => {
  const { authority, directory, port, hostId } = await startEcho()
  const other = await signHostCertificate(await newAuthority(), makeId('host'))
  directory.put('x', 1)
  expect(await isServed(port, hostId, { ...other, ca: authority.certificatePem })).toBe(false)
  const known = makeId('host')
  directory.put(known, 1)
  const forged = await signHostCertificate(await newAuthority(), known)
  expect(await isServed(port, hostId, { ...forged, ca: authority.certificatePem })).toBe(false)
  expect(await isServed(port, hostId, await signHostCertificate(authority, known))).toBe(true)
})

const names: readonly (readonly [string, (hostId: string) => readonly [string, ...string[]]])[] = [
  ['no host', () => ['other.peer.holt']],
  ['two hosts', (hostId) => [peerNameOf(hostId), peerNameOf(makeId('host'))]],
  ['a worker without an id', () => ['worker.peer.holt']],
  ['a host of another trust', (hostId) => [`${hostId}.other.peer.holt`]],
  ['a name below a host', (hostId) => [`a.${peerNameOf(hostId)}`]],
]

test.each(names)('a certificate of the authority that names %s is refused', async (_, namesOf) => {
  const { authority, directory, port, hostId } = await startEcho()
  const known = makeId('host')
  directory.put(known, 1)
  const leaf = await signLeaf(authority, {
    names: namesOf(known),
    backdatedMs: 1000,
    validMs: 60_000,
    isAlsoForClients: true,
  })
  const credentials = { ca: authority.certificatePem, cert: leaf.certificatePem, key: leaf.privateKeyPem }
  expect(await isServed(port, hostId, credentials)).toBe(false)
})

test('a certificate for servers only, or one that has expired, is refused', async () => {
  const { authority, directory, port, hostId } = await startEcho()
  const known = makeId('host')
  directory.put(known, 1)
  const make = async (more: Partial<Parameters<typeof signLeaf>[1]>): Promise<HostCredentials> => {
    const options = { names: [peerNameOf(known)] as const, backdatedMs: 60_000, validMs: 60_000, ...more }
    const leaf = await signLeaf(authority as CertifiedKey, options)
    return { ca: authority.certificatePem, cert: leaf.certificatePem, key: leaf.privateKeyPem }
  }
  expect(await isServed(port, hostId, await make({}))).toBe(false)
  expect(await isServed(port, hostId, await make({ isAlsoForClients: true, validMs: -1000 }))).toBe(false)
  expect(await isServed(port, hostId, await make({ isAlsoForClients: true }))).toBe(true)
})

test('a host that is unknown, or has another address or trust, is refused', async () => {
  const { authority, directory, port, hostId } = await startEcho()
  const known = makeId('host')
  const credentials = await signHostCertificate(authority, known)
  expect(await isServed(port, hostId, credentials)).toBe(false)
  directory.put(known, 1, { address: '127.0.0.2:1' })
  expect(await isServed(port, hostId, credentials)).toBe(false)
  directory.put(known, 1, { trust: 'worker' })
  expect(await isServed(port, hostId, credentials)).toBe(false)
  directory.put(known, 1, { address: '[::ffff:127.0.0.1]:1' })
  expect(await isServed(port, hostId, credentials)).toBe(true)
})

test('a host that is gone loses its open connections at its next request', async () => {
  const { authority, directory, port, hostId, listener } = await startEcho()
  const known = makeId('host')
  directory.put(known, 1)
  const opened = session(port, hostId, await signHostCertificate(authority, known))
  const first = opened.request({ ':path': '/' })
  expect((await once(first, 'response'))[0]).toMatchObject({ ':status': 200 })
  directory.put(known, 1, { isGone: true })
  const closed = once(opened, 'close')
  opened.request({ ':path': '/' }).on('error', () => {})
  await closed
  await expect.poll(() => listener.size).toBe(0)
})

test('a client does not talk to a listener whose certificate names another host', async () => {
  const { authority, directory, port, hostId } = await startEcho()
  const other = makeId('host')
  directory.put(other, port)
  const links = await linksOf(authority, directory)
  await expect(links.open(other, 'small', { headers, signal: never })).rejects.toThrow(Unreachable)
  expect((await links.open(hostId, 'small', { headers, signal: never })).type).toBe('open')
})

test('a header bomb ends its stream or connection, and others are served', async () => {
  const { authority, directory, port, hostId } = await startEcho()
  const known = makeId('host')
  directory.put(known, 1)
  const credentials = await signHostCertificate(authority, known)
  const bombs = [
    { ':path': '/', 'x-long': 'a'.repeat(60_000) },
    { ':path': '/', ...Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`x-${at}`, 'a'])) },
  ]
  for (const bomb of bombs) {
    const opened = session(port, hostId, credentials)
    // The client's own check would refuse to send it.
    await once(opened, 'remoteSettings')
    const stream = opened.request(bomb)
    const seen: string[] = []
    stream.on('response', () => seen.push('served')).on('error', () => seen.push('refused'))
    await new Promise((resolve) => stream.once('close', resolve))
    expect(seen).toEqual(['refused'])
  }
  expect(await isServed(port, hostId, credentials)).toBe(true)
})

/** A frame of HTTP/2 (RFC 9113, 4.1). */
function frame(type: number, flags: number, streamId: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(streamId, 5)
  return Buffer.concat([head, payload])
}

test('a host that opens and resets streams at full speed is cut, and others are served', async () => {
  let begun = 0
  const authority = await newAuthority()
  const directory = new TestDirectory()
  const { port, hostId } = await startListener(authority, directory, async () => {
    begun += 1
  })
  const known = makeId('host')
  directory.put(known, 1)
  const credentials = await signHostCertificate(authority, known)
  const socket = connectTls({
    ...{ host: '127.0.0.1', port, servername: peerNameOf(hostId), ALPNProtocols: ['h2'] },
    ...credentials,
  })
  socket.on('error', () => {}).resume()
  await once(socket, 'secureConnect')
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  socket.write(frame(4, 0, 0, Buffer.alloc(0)))
  let sent = 0
  while (sent < 50_000 && !socket.destroyed) {
    const frames: Buffer[] = []
    for (let at = 0; at < 500; at += 1) {
      const id = 2 * sent + 1
      // :method GET, :path / and :scheme https of the static table (RFC 7541, appendix A).
      frames.push(frame(1, 5, id, Buffer.from([0x82, 0x84, 0x87])), frame(3, 0, id, Buffer.from([0, 0, 0, 8])))
      sent += 1
    }
    socket.write(Buffer.concat(frames))
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  expect(socket.destroyed).toBe(true)
  expect(sent).toBeLessThan(50_000)
  const links = await linksOf(authority, directory)
  expect(begun).toBeLessThan(5_000)
  const before = begun
  void links.open(hostId, 'small', { headers, signal: never }).catch(() => {})
  await expect.poll(() => begun).toBe(before + 1)
})

test('a host may have a few connections, and no more', async () => {
  const { authority, directory, port, hostId, listener } = await startEcho()
  const known = makeId('host')
  directory.put(known, 1)
  const credentials = await signHostCertificate(authority, known)
  const sessions = Array.from({ length: 20 }, () => session(port, hostId, credentials))
  await Promise.all(sessions.map((opened) => Promise.race([once(opened, 'remoteSettings'), once(opened, 'close')])))
  await expect.poll(() => listener.size).toBeLessThanOrEqual(8)
  expect(listener.size).toBeGreaterThan(1)
})

test('silent connections of strangers do not keep hosts out', async () => {
  const { authority, directory, port, hostId } = await startEcho()
  const silent = Array.from({ length: 300 }, () => {
    const socket = connectTls({ host: '127.0.0.1', port, ca: authority.certificatePem, servername: peerNameOf(hostId) })
    socket.on('error', () => {})
    return socket as TLSSocket
  })
  onTestFinished(() => {
    for (const socket of silent) socket.destroy()
  })
  const links = await linksOf(authority, directory, { times: { connectMs: 20_000 } })
  expect((await links.open(hostId, 'small', { headers, signal: never })).type).toBe('open')
})

test('a new certificate is used for new connections, and open ones continue', async () => {
  const authority = await newAuthority()
  const directory = new TestDirectory()
  const id = makeId('host')
  const certificate = await certificateOf(authority, id, { everyMs: 200 })
  const { port } = await startListener(authority, directory, echo, { certificate })
  directory.put(id, port)
  const serialOf = async () => {
    const credentials = await signHostCertificate(authority, id)
    const socket = connectTls({
      host: '127.0.0.1',
      port,
      servername: peerNameOf(id),
      ALPNProtocols: ['h2'],
      ...credentials,
    })
    await once(socket, 'secureConnect')
    const { serialNumber } = socket.getPeerCertificate()
    socket.destroy()
    return serialNumber
  }
  const first = await serialOf()
  const links = await linksOf(authority, directory)
  const opened = await links.open(id, 'small', { headers, signal: never })
  if (opened.type !== 'open') throw new Error('it was refused')
  await expect.poll(serialOf).not.toBe(first)
  opened.connection.end('still')
  expect(String(Buffer.concat(await opened.connection.toArray()))).toBe('still')
})

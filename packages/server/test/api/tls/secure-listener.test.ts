import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { connect as connectPlain } from 'node:net'
import { connect, type PeerCertificate } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { listenSecurely } from '../../../src/api/tls/secure-listener.ts'
import { makeCertificate } from '../../../src/daemon/certificate/make-certificate.ts'
import { connectionLimits } from '../../../src/foundation/config/connection-limits.ts'
import { askSecurely, newCertificate, secureDomain } from '../../support/secure-visitor.ts'
import { keepingLog } from '../../support/start-test-server.ts'

/** The machine may be busy. */
const patience = { timeout: 30_000 }

/** A TLS listener before a server that answers with what it knows of the connection. */
async function start({ handshakes = 1024 } = {}) {
  const certificate = await newCertificate()
  const http: Server = createServer((request, response) => response.end(String(request.socket.remoteAddress)))
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void http.close())
  const { log, logged } = keepingLog()
  const { certFile, keyFile } = certificate
  const listener = await listenSecurely(
    http,
    { certFile, keyFile, host: '127.0.0.1', port: 0 },
    { limits: { ...connectionLimits, maxStrangers: handshakes }, log, backlog: 64, checkEveryMs: 20 },
  )
  onTestFinished(() => listener.close())
  const { port } = listener
  return { certificate, http, logged, port, listener }
}

test('a client of a name below the domain is served over HTTP/1.1, also if it prefers HTTP/2', async () => {
  const { certificate, port } = await start()
  const answer = await askSecurely(certificate, { port, servername: `3000-rt1.${secureDomain}` })
  expect(answer).toMatchObject({ status: 200, text: '127.0.0.1' })
  const socket = connect({
    port,
    servername: secureDomain,
    ca: await readFile(certificate.authorityFile),
    ALPNProtocols: ['h2', 'http/1.1'],
  })
  onTestFinished(() => void socket.destroy())
  await once(socket, 'secureConnect')
  expect(socket.alpnProtocol).toBe('http/1.1')
})

test('a client that trusts only the system is refused by its own check', async () => {
  const { port } = await start()
  const other = await newCertificate('other.localhost')
  await expect(askSecurely(other, { port, servername: secureDomain })).rejects.toThrow(/certificate/)
})

test('a changed certificate is used for new connections, and open ones continue', async () => {
  const { certificate, port } = await start()
  const ca = await readFile(certificate.authorityFile)
  const serialOf = async (): Promise<string> => {
    const socket = connect({ port, servername: secureDomain, ca })
    await once(socket, 'secureConnect')
    const { serialNumber } = socket.getPeerCertificate() as PeerCertificate
    socket.destroy()
    return serialNumber
  }
  const before = await serialOf()
  const open = connect({ port, servername: secureDomain, ca })
  onTestFinished(() => void open.destroy())
  await once(open, 'secureConnect')
  await makeCertificate({ domain: secureDomain, days: 30, dir: certificate.dir, now: Date.now() })
  await expect.poll(serialOf, patience).not.toBe(before)
  open.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  const [data] = await once(open, 'data')
  expect(String(data)).toContain('200 OK')
})

test('a pair that does not fit is reported once, and the earlier certificate stays', async () => {
  const { certificate, port, logged } = await start()
  const other = await newCertificate()
  await writeFile(certificate.keyFile, await readFile(other.keyFile))
  await expect.poll(() => logged.length, patience).toBe(1)
  expect(logged[0]?.message).toContain('the earlier one stays')
  expect(await askSecurely(certificate, { port, servername: secureDomain })).toMatchObject({ status: 200 })
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(logged).toHaveLength(1)
})

test.each([
  [
    'a missing file',
    async (dir: string) => ({ certFile: `${dir}/none.pem`, keyFile: `${dir}/key.pem` }),
    /HOLT_E2B_TLS_CERT.*ENOENT/,
  ],
  [
    'a foreign key',
    async (dir: string) => ({ certFile: `${dir}/certificate.pem`, keyFile: (await newCertificate()).keyFile }),
    /not a certificate and its key/,
  ],
])('a start with %s fails and names the setting', async (_, filesOf, message) => {
  const files = await filesOf((await newCertificate()).dir)
  const opening = listenSecurely(
    createServer(),
    { ...files, host: '127.0.0.1', port: 0 },
    { limits: connectionLimits, log: keepingLog().log, backlog: 64 },
  )
  await expect(opening).rejects.toThrow(message)
})

test('silent connections above the limit cost their own peer, and others are served', async () => {
  const { certificate, port } = await start({ handshakes: 4 })
  const silent = Array.from({ length: 20 }, () => {
    const socket = connectPlain({ port, host: '127.0.0.1', localAddress: '127.0.0.2' }).on('error', () => {})
    onTestFinished(() => void socket.destroy())
    return socket
  })
  await expect.poll(() => silent.filter(({ destroyed }) => destroyed).length, patience).toBe(16)
  expect(await askSecurely(certificate, { port, servername: secureDomain })).toMatchObject({ status: 200 })
  // The new client took the place of one of them.
  expect(silent.filter(({ destroyed }) => !destroyed).length).toBe(3)
})

test('the close ends handshakes and open connections', async () => {
  const { certificate, port, listener } = await start()
  const silent = connectPlain({ port, host: '127.0.0.1' }).on('error', () => {})
  const open = connect({ port, servername: secureDomain, ca: await readFile(certificate.authorityFile) })
  open.on('error', () => {})
  await once(open, 'secureConnect')
  open.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(open, 'data')
  await Promise.all([once(silent, 'close'), once(open, 'close'), listener.close()])
  const [error] = await once(connectPlain({ port, host: '127.0.0.1' }), 'error')
  expect(error).toMatchObject({ code: 'ECONNREFUSED' })
})

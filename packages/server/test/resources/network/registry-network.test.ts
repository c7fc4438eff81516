import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { Dialer, type EgressSettings } from '@holt/egress'
import { issue, makeTestCa, startDnsServer } from '@holt/egress/testing'
import { expect, test } from 'vitest'
import { startCanary, startHttpHost, startHttpsHost } from '../../../../egress/test/support/hosts.ts'
import { makeRegistryNetwork } from '../../../src/resources/network/registry-network.ts'

const none: EgressSettings = { resolvers: ['127.0.0.1:1'], allowedNetworks: [], overrides: [], extraCaPem: null }
const signal = () => AbortSignal.timeout(30_000)
const networkOf = (settings: Partial<EgressSettings>) => makeRegistryNetwork(new Dialer({ ...none, ...settings }))

async function ask(socket: Duplex): Promise<string> {
  socket.write('GET / HTTP/1.0\r\n\r\n')
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
  })
  await once(socket, 'end')
  socket.destroy()
  return text
}

test.each([
  '127.0.0.1',
  '::1',
  '::ffff:127.0.0.1',
  '64:ff9b::7f00:1',
  '2002:7f00:1::',
  '10.0.0.1',
  '169.254.169.254',
  'fd00:ec2::254',
  '0.0.0.0',
])('%s is not contacted, with or without TLS', async (host) => {
  await using canary = await startCanary({ host: '127.0.0.1' })
  for (const tls of [true, false]) {
    const target = { host, port: canary.port, tls, isOperators: false }
    await expect(networkOf({}).connect(target, signal())).rejects.toMatchObject({ reason: 'not_allowed' })
  }
  expect(canary.connections).toBe(0)
})

test('a name that resolves to an internal address is not contacted, unless its network is allowed', async () => {
  await using host = await startHttpHost((_, response) => response.end('hi'))
  await using dns = await startDnsServer({ 'registry.example.com': { A: ['127.0.0.1'] } })
  const target = { host: 'registry.example.com', port: host.port, tls: false, isOperators: false }
  await expect(networkOf({ resolvers: [dns.address] }).connect(target, signal())).rejects.toMatchObject({
    reason: 'not_allowed',
  })
  expect(host.connections).toBe(0)
  const allowed = networkOf({ resolvers: [dns.address], allowedNetworks: ['127.0.0.0/8'] })
  expect(await ask(await allowed.connect(target, signal()))).toContain('hi')
})

test('hosts of the operator can be anywhere, and use the names of this machine', async () => {
  await using host = await startHttpHost((_, response) => response.end('hi'))
  for (const name of ['127.0.0.1', 'localhost']) {
    const target = { host: name, port: host.port, tls: false, isOperators: true }
    expect(await ask(await networkOf({}).connect(target, signal()))).toContain('hi')
  }
})

test('TLS is verified against the name or the address', async () => {
  const ca = await makeTestCa()
  await using host = await startHttpsHost(await issue(ca, '127.0.0.1'), (_, response) => response.end('hi'))
  const network = networkOf({ extraCaPem: ca.certificatePem })
  const target = { host: '127.0.0.1', port: host.port, tls: true, isOperators: true }
  expect(await ask(await network.connect(target, signal()))).toContain('hi')
  await expect(network.connect({ ...target, host: 'localhost' }, signal())).rejects.toMatchObject({
    reason: 'tls_failed',
  })
  await expect(networkOf({}).connect(target, signal())).rejects.toMatchObject({ reason: 'tls_failed' })
})

test.each([
  ['no_such_host', 'a\0.example.com'],
  ['no_such_host', 'no such host'],
  ['unreachable', 'registry.example.com'],
])('says %s of %j', async (reason, host) => {
  const target = { host, port: 443, tls: true, isOperators: false }
  await expect(networkOf({}).connect(target, signal())).rejects.toMatchObject({ name: 'NetworkError', reason })
})

test('reports a refused connection', async () => {
  const host = await startHttpHost(() => undefined)
  await host[Symbol.asyncDispose]()
  const target = { host: '127.0.0.1', port: host.port, tls: false, isOperators: true }
  await expect(networkOf({}).connect(target, signal())).rejects.toMatchObject({ reason: 'unreachable' })
})

test('an abort is the reason, whatever happens besides', async () => {
  const target = { host: '127.0.0.1', port: 1, tls: false, isOperators: true }
  await expect(networkOf({}).connect(target, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough')
})

import { expect, test } from 'vitest'
import { DialError, Dialer, type EgressSettings } from '../../src/index.ts'
import { issue, makeTestCa } from '../support/certificates.ts'
import { startDnsServer } from '../support/dns-server.ts'
import { startCanary, startHttpsHost } from '../support/hosts.ts'

const none: EgressSettings = { resolvers: ['127.0.0.1:1'], allowedNetworks: [], overrides: [], extraCaPem: null }
const signal = () => AbortSignal.timeout(30_000)

test('uses verified TLS to the name, at the address that the operator set', async () => {
  const ca = await makeTestCa()
  await using host = await startHttpsHost(await issue(ca, 'login.example.com'), (_, response) => response.end('hi'))
  const overrides = ['login.example.com', 'other.example.com'].map((name) => ({
    host: name,
    port: 443,
    toHost: host.host,
    toPort: host.port,
  }))
  const dialer = new Dialer({ ...none, overrides, extraCaPem: ca.certificatePem })
  const socket = await dialer.dialTls({ host: 'LOGIN.example.com', port: 443 }, signal())
  expect([socket.authorized, socket.servername]).toEqual([true, 'login.example.com'])
  socket.destroy()
  await expect(dialer.dialTls({ host: 'other.example.com', port: 443 }, signal())).rejects.toThrow(/altnames/)
  await expect(
    new Dialer({ ...none, overrides }).dialTls({ host: 'login.example.com', port: 443 }, signal()),
  ).rejects.toThrow()
})

test.each(['127.0.0.1', '[::1]', '0x7f.1', '169.254.169.254', 'localhost', 'a\0.example.com', ''])(
  'an address or an invalid name is not contacted: %j',
  async (host) => {
    await using canary = await startCanary()
    await expect(new Dialer(none).dialTls({ host, port: canary.port }, signal())).rejects.toMatchObject({
      name: 'DialError',
    })
    expect(canary.connections).toBe(0)
  },
)

test('a name with non-public addresses is not contacted, unless the operator allows them', async () => {
  const ca = await makeTestCa()
  await using host = await startHttpsHost(await issue(ca, 'login.example.com'), (_, response) => response.end('hi'))
  await using dns = await startDnsServer({ 'login.example.com': { A: ['127.0.0.1'] } })
  const settings = { ...none, resolvers: [dns.address], extraCaPem: ca.certificatePem }
  const target = { host: 'login.example.com', port: host.port }
  await expect(new Dialer(settings).dialTls(target, signal())).rejects.toMatchObject({ reason: 'non_public' })
  expect(host.connections).toBe(0)
  const allowed = new Dialer({ ...settings, allowedNetworks: ['127.0.0.0/8'] })
  const socket = await allowed.dialTls(target, signal())
  expect(socket.authorized).toBe(true)
  socket.destroy()
})

test('a name that changes to a non-public address, or adds one, is not contacted there', async () => {
  const ca = await makeTestCa()
  await using host = await startHttpsHost(await issue(ca, 'login.example.com'), (_, response) => response.end('hi'))
  await using canary = await startCanary({ host: '127.0.0.2', port: host.port })
  let addresses = ['127.0.0.1']
  await using dns = await startDnsServer({ 'login.example.com': { A: () => addresses, ttlSecs: 0 } })
  // The one loopback address that counts as public here.
  const settings = { ...none, resolvers: [dns.address], allowedNetworks: ['127.0.0.1/32'] }
  const dialer = new Dialer({ ...settings, extraCaPem: ca.certificatePem })
  const dial = async () => {
    try {
      const socket = await dialer.dialTls({ host: 'login.example.com', port: host.port }, signal())
      socket.destroy()
      return 'connected'
    } catch (error) {
      return error instanceof DialError ? error.reason : error
    }
  }
  expect(await dial()).toBe('connected')
  for (const others of [['127.0.0.2'], ['169.254.169.254', '10.0.0.1'], ['0.0.0.0', '127.0.0.2']]) {
    addresses = others
    // The earlier answer stays cached for a second, whatever it says.
    await expect.poll(dial, { interval: 200 }).toBe('non_public')
    addresses = ['127.0.0.2', '127.0.0.1', '10.0.0.1']
    await expect.poll(dial, { interval: 200 }).toBe('connected')
  }
  expect(canary.connections).toBe(0)
})

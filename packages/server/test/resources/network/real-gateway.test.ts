import { expect, onTestFinished, test } from 'vitest'
import { startDnsServer } from '../../../../egress/test/support/dns-server.ts'
import { drain } from '../../../../egress/test/support/guest.ts'
import { startTcpHost } from '../../../../egress/test/support/hosts.ts'
import { openOutside } from '../../../src/resources/network/open-outside.ts'
import { guestOf } from '../../support/egress-guest.ts'
import { keepingLog, startTestServer } from '../../support/start-test-server.ts'

const runtimes = '/v1/agents/runtime'

/**
 * A server over the real gateway, whose names live on loopback, and a host that answers what it is
 * told.
 */
async function setUp() {
  const host = await startTcpHost((socket) => socket.pipe(socket))
  const dns = await startDnsServer({
    'echo.example.com': { A: ['127.0.0.1'] },
    'other.example.com': { A: ['127.0.0.1'] },
  })
  onTestFinished(async () => {
    await dns[Symbol.asyncDispose]()
    await host[Symbol.asyncDispose]()
  })
  const egress = { resolvers: [dns.address], allowedNetworks: ['127.0.0.0/8'], overrides: [], caFile: null }
  const outside = await openOutside({ egress }, keepingLog().log)
  return {
    ...(await startTestServer({ outside })),
    host,
    dns,
    policy: { allow: [{ host: 'echo.example.com', ports: [host.port] }] },
  }
}

test('the gateway allows what the policy allows, denies the rest, and logs both', async () => {
  const server = await setUp()
  const id = await server.makeRuntime({ network_policy: server.policy })
  const guest = await guestOf(server, id)
  const stream = await guest.dial('echo.example.com', server.host.port)
  stream.end('hello')
  expect((await drain(stream)).text).toBe('hello')
  await expect(guest.resolve('other.example.com')).rejects.toThrow('REFUSED')
  expect(server.dns.queries.some((query) => query.includes('other'))).toBe(false)
  const test = (host: string) =>
    server.ask('POST', `${runtimes}/${id}/network/test`, { json: { host, port: server.host.port } })
  expect((await test('echo.example.com')).json).toMatchObject({
    allowed: true,
    addresses: ['127.0.0.1'],
    inspection: 'none',
  })
  expect((await test('other.example.com')).json).toMatchObject({ allowed: false, rule: 'no_rule' })
  const { add } = (await server.ask('GET', `${runtimes}/${id}/network/suggest`)).json
  expect(add).toEqual([{ host: 'other.example.com', ports: [443] }])
  const log = (await server.ask('GET', `${runtimes}/${id}/network/log`)).text
  const lines = log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.map(({ type, name, allowed }) => [type, name, allowed])).toEqual(
    expect.arrayContaining([
      ['dns', 'echo.example.com', true],
      ['connect', 'echo.example.com', true],
      ['close', 'echo.example.com', true],
      ['dns', 'other.example.com', false],
    ]),
  )
})

test('a connection that a new policy denies is closed before the answer', async () => {
  const server = await setUp()
  const id = await server.makeRuntime({ network_policy: server.policy })
  const guest = await guestOf(server, id)
  const stream = await guest.dial('echo.example.com', server.host.port)
  const ended = drain(stream)
  await server.ask('PUT', `${runtimes}/${id}/network`, {
    json: { network_policy: { allow: [{ host: 'other.example.com' }] } },
  })
  expect((await ended).reset).toBe(true)
  await expect(guest.dial('echo.example.com', server.host.port)).rejects.toThrow('REFUSED')
})

test('a stricter stored policy closes connections of every runtime that has it', async () => {
  const server = await setUp()
  await server.ask('POST', '/v1/agents/network-policy', { json: { name: 'web', ...server.policy } })
  const ends: Promise<{ reset: boolean }>[] = []
  for (let count = 0; count < 2; count += 1) {
    const guest = await guestOf(server, await server.makeRuntime({ network_policy: 'web' }))
    ends.push(drain(await guest.dial('echo.example.com', server.host.port)))
  }
  await server.ask('PUT', '/v1/agents/network-policy/web', { json: {} })
  expect(await Promise.all(ends)).toMatchObject([{ reset: true }, { reset: true }])
})

test('a stop of the service closes all connections; the next service has the same addresses', async () => {
  const server = await setUp()
  const id = await server.makeRuntime({ network_policy: server.policy })
  const guest = await guestOf(server, id)
  const address = await guest.resolve('echo.example.com')
  const ended = drain(await guest.dial('echo.example.com', server.host.port))
  const again = await server.restart()
  expect((await ended).reset).toBe(true)
  const { status, stream } = await (await guestOf(again, id)).connect(`${address}:${server.host.port}`)
  expect(status).toBe(200)
  stream.end('again')
  expect((await drain(stream)).text).toBe('again')
})

test('the end of a runtime closes its connections', async () => {
  const server = await setUp()
  const id = await server.makeRuntime({ network_policy: server.policy })
  const guest = await guestOf(server, id)
  const ended = drain(await guest.dial('echo.example.com', server.host.port))
  await server.ask('DELETE', `${runtimes}/${id}`)
  expect((await ended).reset).toBe(true)
  expect(() => server.engine.dialEgress(id)).toThrow()
})

import { createServer } from 'node:http'
import { portTokenHeader } from '@holt/protocol'
import { describe, expect, test, vi } from 'vitest'
import { hostRow, pass, type TestHost } from '../../support/fleet.ts'
import { inside } from '../../support/inside.ts'
import { hasPostgres } from '../../support/postgres-cluster.ts'
import { readItems } from '../../support/read-items.ts'
import { messages, onlyTo, receiveWebhooks } from '../../support/receive-webhooks.ts'
import { startHosts } from '../../support/start-hosts.ts'
import type { TestServer } from '../../support/start-test-server.ts'

const path = '/v1/agents/runtime'

describe.skipIf(!hasPostgres())('hosts that share a PostgreSQL', () => {
  test('every host answers for every runtime', async () => {
    const { hosts } = await startHosts(3)
    const [one, two, three] = hosts as [TestHost, TestHost, TestHost]
    const id = await two.server.makeRuntime()
    expect(await two.engine.inspect(id)).not.toBeNull()
    const far = inside(three.server)
    expect(await far.run(id, 'echo', 'far')).toBe('far\n')
    await far.write(id, '/workspace/a', 'content')
    expect(await inside(two.server).read(id, '/workspace/a')).toBe('content')
    expect(await inside(one.server).read(id, '/workspace/a')).toBe('content')
    expect((await three.server.ask('POST', `${path}/${id}/pause`)).json.state).toBe('paused')
    expect((await one.server.ask('GET', `${path}/${id}`)).json.state).toBe('paused')
    expect((await one.server.ask('POST', `${path}/${id}/resume`)).json.state).toBe('running')
    expect(await far.read(id, '/workspace/a')).toBe('content')
    expect((await three.server.ask('DELETE', `${path}/${id}`)).status).toBe(204)
    expect(await two.engine.inspect(id)).toBeNull()
    expect((await one.server.ask('GET', `${path}/${id}`)).json.state).toBe('terminated')
    const failures = hosts.flatMap(({ server }) => server.logged.filter(({ level }) => level === 'error'))
    expect(failures).toEqual([])
  })

  test('a follower gets the events of runtimes on other hosts', async () => {
    const { hosts } = await startHosts(2)
    const [one, two] = hosts as [TestHost, TestHost]
    const id = await one.server.makeRuntime()
    await using items = await readItems(two.server, `${path}/${id}/events?follow=true`)
    const types: string[] = []
    const until = async (type: string) => {
      while (types.at(-1) !== type) types.push((await items.next()).type)
    }
    await until('runtime.running')
    await one.server.ask('DELETE', `${path}/${id}`)
    await until('runtime.terminated')
    expect(new Set(types).size).toBe(types.length)
  })

  test('a message of a webhook is sent by one host', async () => {
    const receiver = await receiveWebhooks()
    const { hosts } = await startHosts(2, { outside: onlyTo(receiver) })
    const [one, two] = hosts as [TestHost, TestHost]
    const json = { url: 'https://hooks.example.com/in', types: ['runtime.running', 'runtime.terminated'] }
    expect((await two.server.ask('POST', '/v1/agents/webhook', { json })).status).toBe(201)
    for (const { server } of [one, two]) await server.ask('DELETE', `${path}/${await server.makeRuntime()}`)
    await messages(receiver, 4)
    // A second sender would have sent each message at the same time.
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(4)
    expect(receiver.received).toHaveLength(4)
  })

  test('a visit to a port arrives through another host, with a token of a third one', async () => {
    const { hosts } = await startHosts(3)
    const [one, two, three] = hosts as [TestHost, TestHost, TestHost]
    const id = await one.server.makeRuntime()
    const program = createServer((_, response) => response.end('from inside'))
    one.engine.guest(id)?.ports.listen(3000, (connection) => void program.emit('connection', connection))
    const { json } = await two.server.ask('GET', `${path}/${id}/ports/3000?expires_in_secs=60`)
    const visit = (more: object) => fetch(`${three.server.server.url}${path}/${id}/ports/3000/proxy/`, more)
    const answer = await visit({ headers: { [portTokenHeader]: json.token } })
    expect([answer.status, await answer.text()]).toEqual([200, 'from inside'])
    expect((await visit({})).status).toBe(401)
  })

  test('a page at a port has the same headers at every host', async () => {
    const { hosts } = await startHosts(2)
    const [one, two] = hosts as [TestHost, TestHost]
    const id = await one.server.makeRuntime()
    const program = createServer((_, response) => {
      response.writeHead(302, { location: '/next', 'set-cookie': ['mine=1; Path=/a', 'more=2'], 'x-mine': 'y' }).end()
    })
    one.engine.guest(id)?.ports.listen(3000, (connection) => void program.emit('connection', connection))
    const visit = async ({ server: { url, adminKey } }: TestServer) => {
      const headers = { authorization: `Bearer ${adminKey}` }
      const options = { headers, redirect: 'manual' } as const
      const answer = await fetch(`${url}${path}/${id}/ports/3000/proxy/`, options)
      const ofMessage = new Set(['connection', 'date', 'keep-alive', 'transfer-encoding'])
      return [...answer.headers].filter(([name]) => !ofMessage.has(name))
    }
    const here = await visit(one.server)
    expect(here).toContainEqual(['location', `${path}/${id}/ports/3000/proxy/next`])
    expect(await visit(two.server)).toEqual(here)
  })

  test('a policy that is replaced at one host is in force at the others', async () => {
    const { hosts } = await startHosts(2)
    const [one, two] = hosts as [TestHost, TestHost]
    const policy = (host: string) => ({ allow: [{ host }] })
    const made = { name: 'mine', ...policy('before.example') }
    expect((await two.server.ask('POST', '/v1/agents/network-policy', { json: made })).status).toBe(201)
    const id = await one.server.makeRuntime({ network_policy: 'mine' })
    const hostsOf = () => one.gateway.of(id)?.hosts
    expect(hostsOf()).toEqual(['before.example'])
    const json = policy('after.example')
    expect((await two.server.ask('PUT', '/v1/agents/network-policy/mine', { json })).status).toBe(200)
    await vi.waitUntil(() => hostsOf()?.includes('after.example'), { timeout: 20_000 })
    expect(two.gateway.attached).toEqual([])
  })

  test('a host that is cordoned places creates on a ready one', async () => {
    const { store, hosts } = await startHosts(2)
    const [one, two] = hosts as [TestHost, TestHost]
    const cordon = async (host: TestHost) => {
      expect((await two.server.ask('POST', `/v1/agents/host/${host.hostId}/cordon`)).status).toBe(204)
      await vi.waitUntil(async () => (await hostRow(store, host)).state === 'cordoned', { timeout: 20_000 })
      await pass(1, { store, hosts, beating: hosts })
    }
    await cordon(one)
    const key = { 'idempotency-key': 'placed' }
    const made = await one.server.ask('POST', path, { json: {}, headers: key })
    expect([made.status, await one.engine.inspect(made.json.runtime_id)]).toEqual([201, null])
    expect(await two.engine.inspect(made.json.runtime_id)).not.toBeNull()
    const again = await two.server.ask('POST', path, { json: {}, headers: key })
    expect(again.json.runtime_id).toBe(made.json.runtime_id)
    await cordon(two)
    const refused = await one.server.ask('POST', path, { json: {} })
    expect([refused.status, refused.json.error.details.reason]).toEqual([503, 'no_ready_host'])
  })

  test('a host that is cut off is fenced, then lost, and comes back in another epoch', async () => {
    const { store, hosts } = await startHosts(2)
    const [one, two] = hosts as [TestHost, TestHost]
    const [running, paused] = [await one.server.makeRuntime(), await one.server.makeRuntime()]
    expect((await two.server.ask('POST', `${path}/${paused}/pause`)).json.state).toBe('paused')
    const { epoch } = await hostRow(store, one)
    one.cable.isCut = true
    await pass(40_000, { store, hosts, beating: [two] })
    const refused = await two.server.ask('POST', `${path}/${running}/commands`, { json: { argv: ['true'] } })
    expect([refused.status, refused.json.error.details.reason]).toEqual([503, 'host_unreachable'])
    await pass(210_000, { store, hosts, beating: [two] })
    // The first look at the lease resets the connection.
    await one.server.ask('GET', path).catch(() => null)
    const fenced = await one.server.ask('GET', path)
    expect([fenced.status, fenced.json.error.details]).toEqual([503, { reason: 'host_fenced' }])
    // The second host takes the duty of the judge, which the first one had.
    await pass(80_000, { store, hosts, beating: [two] })
    const stateOf = async (id: string) => (await two.server.ask('GET', `${path}/${id}`)).json
    await vi.waitUntil(async () => (await stateOf(running)).state === 'failed', { timeout: 20_000 })
    expect(await stateOf(running)).toMatchObject({ state_reason: { code: 'host_lost' } })

    one.cable.isCut = false
    await vi.waitUntil(() => one.overs.length === 1, { timeout: 20_000 })
    const again = await one.restart()
    await pass(1, { store, hosts: [again, two], beating: [again, two] })
    const row = await hostRow(store, again)
    expect([row.state, row.epoch]).toEqual(['ready', epoch + 2])
    expect((await two.server.ask('POST', `${path}/${paused}/resume`)).json.state).toBe('running')
    const { host_epoch } = await store.db
      .selectFrom('runtimes')
      .select('host_epoch')
      .where('runtime_id', '=', paused)
      .executeTakeFirstOrThrow()
    expect(host_epoch).toBe(row.epoch)
    expect(await inside(two.server).run(paused, 'echo', 'back')).toBe('back\n')
  })

  test('an answer of a host that is fenced does not leave through another one', async () => {
    const { store, hosts } = await startHosts(2)
    const [one, two] = hosts as [TestHost, TestHost]
    const id = await one.server.makeRuntime()
    let say: (text: string) => void = () => {}
    one.engine.guest(id)?.ports.listen(3000, (connection) => {
      connection.write('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nfirst')
      say = (text) => void connection.write(text)
    })
    const answer = await fetch(`${two.server.server.url}${path}/${id}/ports/3000/proxy/`, {
      headers: { authorization: `Bearer ${two.server.server.adminKey}` },
    })
    const reader = (answer.body ?? new ReadableStream<Uint8Array>()).getReader()
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('first')
    one.cable.isCut = true
    await pass(250_000, { store, hosts, beating: [two] })
    say('late')
    await expect(reader.read()).rejects.toThrow()
  })
})

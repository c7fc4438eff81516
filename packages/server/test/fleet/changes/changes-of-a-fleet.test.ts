import { createServer, type IncomingMessage, request } from 'node:http'
import type { Duplex } from 'node:stream'
import { expect, onTestFinished, test, vi } from 'vitest'
import { parseConfig } from '../../../src/index.ts'
import { withE2b } from '../../support/e2b-server.ts'
import { pass, startHost, type TestHost } from '../../support/fleet.ts'
import { fleetStores } from '../../support/fleet-stores.ts'
import { patience, startMovingFleet } from '../../support/moving-fleet.ts'
import { makeProject } from '../../support/own-project.ts'
import { readItems } from '../../support/read-items.ts'
import { openTestStore } from '../../support/test-store.ts'
import { startWorkerFleet } from '../../support/worker-fleet.ts'

const path = '/v1/agents'

/** The number of changes of a test. A host that followed later would miss one of them. */
const rounds = 5

/** Makes a policy and a secret, and a runtime of a host that has both. */
async function holderOn({ server }: TestHost): Promise<string> {
  const policy = { name: 'mine', allow: [{ host: 'first.example' }] }
  expect((await server.ask('POST', `${path}/network-policy`, { json: policy })).status).toBe(201)
  const secret = { name: 'token', value: 'a value', hosts: ['first.example'] }
  expect((await server.ask('POST', `${path}/secret`, { json: secret })).status).toBe(201)
  return server.makeRuntime({ network_policy: 'mine', secrets: ['token'] })
}

/** Replaces the policy through a host. */
function replacePolicy({ server }: TestHost, host: string) {
  return server.ask('PUT', `${path}/network-policy/mine`, { json: { allow: [{ host }] } })
}

test.each(fleetStores)('over %s a policy and a secret are in force at their owner with the answer', async (_, open) => {
  const store = await open()
  const [one, two] = [await startHost(store), await startHost(store)]
  await pass(1, { store, hosts: [one, two], beating: [one, two] })
  const id = await holderOn(one)
  for (let round = 0; round < rounds; round += 1) {
    const host = `next-${round}.example`
    expect((await replacePolicy(two, host)).status).toBe(200)
    expect(one.gateway.of(id)?.hosts).toEqual([host])
    const json = { value: `value ${round}`, hosts: [host] }
    expect((await two.server.ask('PUT', `${path}/secret/token`, { json })).status).toBe(200)
    const [held] = one.gateway.of(id)?.options.secrets ?? []
    expect([held?.hosts, (await held?.value())?.value]).toEqual([[host], `value ${round}`])
  }
  expect((await two.server.ask('DELETE', `${path}/secret/token`)).status).toBe(204)
  expect(await one.gateway.of(id)?.options.secrets[0]?.value()).toBeNull()
  expect(two.gateway.attached).toEqual([])
})

test('a policy is in force at a worker with the answer of a front', async () => {
  const { fronts, workers } = await startWorkerFleet({ workers: 2 })
  const [front] = fronts as [TestHost]
  const id = await vi.waitUntil(async () => holderOn(front).catch(() => null), patience)
  const owner = workers.find(({ gateway }) => gateway.of(id) !== null)
  for (let round = 0; round < rounds; round += 1) {
    const host = `next-${round}.example`
    expect((await replacePolicy(front, host)).status).toBe(200)
    expect(owner?.gateway.of(id)?.hosts).toEqual([host])
  }
})

test('an owner that does not apply a policy is named, until the verdict takes its runtimes', async () => {
  const { store, hosts } = await startMovingFleet(2)
  const [one, two] = hosts as [TestHost, TestHost]
  const id = await holderOn(one)
  one.cable.isCut = true
  const refused = await replacePolicy(two, 'next.example')
  expect([refused.status, refused.json.error.code]).toEqual([503, 'unavailable'])
  expect(refused.json.error.details).toEqual({ reason: 'not_in_force', host_ids: [one.hostId] })
  expect(one.gateway.of(id)?.hosts).not.toContain('next.example')
  const stored = await two.server.ask('GET', `${path}/network-policy/mine`)
  expect(stored.json.allow).toMatchObject([{ host: 'next.example' }])
  await pass(330_000, { store, hosts, beating: [two] })
  const state = async () => (await two.server.ask('GET', `${path}/runtime/${id}`)).json.state
  await vi.waitUntil(async () => (await state()) === 'failed', patience)
  expect((await replacePolicy(two, 'last.example')).status).toBe(200)
})

test('an owner that was not reached applies a policy when it reads the database again', async () => {
  const { hosts } = await startMovingFleet(2)
  const [one, two] = hosts as [TestHost, TestHost]
  const id = await holderOn(one)
  one.cable.isCut = true
  const refused = replacePolicy(two, 'next.example')
  const stored = async () => (await two.server.ask('GET', `${path}/network-policy/mine`)).json.allow[0].host
  await vi.waitUntil(async () => (await stored()) === 'next.example', patience)
  one.cable.isCut = false
  expect((await refused).status).toBe(200)
  expect(one.gateway.of(id)?.hosts).toEqual(['next.example'])
})

test('a revoked or rotated key opens nothing at any host with the answer', async () => {
  const { hosts } = await startMovingFleet(3)
  const [one, two, three] = hosts as [TestHost, TestHost, TestHost]
  const statusAt = async ({ server }: TestHost, key: string) =>
    (await server.ask('GET', `${path}/runtime`, { key })).status
  for (let round = 0; round < rounds; round += 1) {
    const { key, key_id } = await one.server.makeKey('runtime:read', 'event:read')
    for (const host of hosts) expect(await statusAt(host, key)).toBe(200)
    await using items = await readItems(two.server, `${path}/event?follow=true`, key)
    const isRotated = round % 2 === 1
    const answer = isRotated
      ? await one.server.ask('POST', `${path}/key/${key_id}/rotate`, { json: { overlap_secs: 0 } })
      : await one.server.ask('DELETE', `${path}/key/${key_id}`)
    expect(answer.status).toBe(isRotated ? 200 : 204)
    for (const host of [two, three, one]) expect(await statusAt(host, key)).toBe(401)
    const last = async () => (await items.next().catch(() => undefined)) === undefined
    await vi.waitUntil(last, patience)
  }
})

test('a deleted project has no key at any host with the answer', async () => {
  const { hosts } = await startMovingFleet(2)
  const [one, two] = hosts as [TestHost, TestHost]
  for (let round = 0; round < rounds; round += 1) {
    const { key } = await makeProject(one.server, `team-${round}`)
    expect((await two.server.ask('GET', `${path}/runtime`, { key })).status).toBe(200)
    expect((await one.server.ask('DELETE', `${path}/project/team-${round}`)).status).toBe(204)
    expect((await two.server.ask('GET', `${path}/runtime`, { key })).status).toBe(401)
  }
})

test('the quotas of a project are those of the last change at every host', async () => {
  const { hosts } = await startMovingFleet(2)
  const [one, two] = hosts as [TestHost, TestHost]
  const { key } = await makeProject(one.server, 'team', { requests_per_sec: 1_000 })
  const limitAt = async ({ server }: TestHost) =>
    (await server.ask('GET', `${path}/runtime`, { key })).headers.get('ratelimit-limit')
  for (const requests_per_sec of [1_000, 500, 250, 100]) {
    const json = { quotas: { requests_per_sec } }
    expect((await one.server.ask('PATCH', `${path}/project/team`, { json })).status).toBe(200)
    expect([await limitAt(two), await limitAt(one)]).toEqual([`${requests_per_sec}`, `${requests_per_sec}`])
  }
})

test('signing out of the console at one host ends its streams at the others', async () => {
  const { hosts } = await startMovingFleet(2)
  const [one, two] = hosts as [TestHost, TestHost]
  const page = 'p'.repeat(43)
  const { key } = await one.server.makeKey('event:read')
  const origin = (host: TestHost) => host.server.server.url
  const signedIn = await one.server.ask('POST', '/console/session', {
    key,
    headers: { 'x-holt-console': page, origin: origin(one) },
  })
  const [cookie = ''] = (signedIn.headers.get('set-cookie') ?? '').split(';', 1)
  const at = (host: TestHost) => ({
    cookie,
    'x-holt-console': `${signedIn.json.key_id}.${page}`,
    origin: origin(host),
    'sec-fetch-site': 'same-origin',
  })
  const stream = await fetch(`${origin(two)}${path}/event?follow=true`, {
    headers: { ...at(two), accept: 'application/x-ndjson' },
  })
  expect(stream.status).toBe(200)
  const ended = stream.text().catch(() => 'cut')
  const out = await one.server.ask('DELETE', `/console/session/${signedIn.json.key_id}`, {
    key: null,
    headers: at(one),
  })
  expect(out.status).toBe(204)
  expect(await ended).toBeDefined()
})

test('the end of a key cuts the connections with its tokens at every host', async () => {
  const { e2b } = parseConfig({ HOLT_STATE_DIR: '/nowhere', HOLT_E2B: 'on' })
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const hosts = [await startHost(store, { config: { e2b } }), await startHost(store, { config: { e2b } })]
  await pass(1, { store, hosts, beating: hosts })
  const [one, two] = hosts as [TestHost, TestHost]
  const { key, key_id } = await one.server.makeKey('runtime:write', 'runtime:read')
  const made = await withE2b(one.server).e2b('POST', '/v2/sandboxes', { json: { templateID: 'base' }, key })
  const id: string = made.json.sandboxID
  const program = createServer()
  program.on('upgrade', (_, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: text\r\n\r\n')
  })
  one.engine.guest(id)?.ports.listen(3000, (connection) => program.emit('connection', connection))
  const visits = await Promise.all(
    hosts.map((host) => upgrade(host, { 'e2b-sandbox-id': id, 'e2b-sandbox-port': '3000' })),
  )
  const closed = visits.map((socket) => new Promise((resolve) => socket.once('close', resolve)))
  expect((await two.server.ask('DELETE', `${path}/key/${key_id}`)).status).toBe(204)
  await Promise.all(closed)
})

/** Upgrades a connection to a port through a host. */
async function upgrade({ server }: TestHost, headers: Readonly<Record<string, string>>): Promise<Duplex> {
  const outgoing = request(server.server.url, {
    headers: { ...headers, connection: 'Upgrade', upgrade: 'text' },
    agent: false,
  })
  const [, socket] = await new Promise<[IncomingMessage, Duplex]>((resolve, reject) => {
    outgoing.once('upgrade', (answer, opened) => resolve([answer, opened])).once('error', reject)
    outgoing.once('response', ({ statusCode }) => reject(new Error(`the answer is ${statusCode}`)))
    outgoing.end()
  })
  socket.on('error', () => {}).resume()
  return socket
}

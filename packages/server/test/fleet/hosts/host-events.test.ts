import { hostEventTypes } from '@holt/protocol'
import { expect, test, vi } from 'vitest'
import { startHost, type TestHost } from '../../support/fleet.ts'
import { fleetStores } from '../../support/fleet-stores.ts'
import { startJoinedFleet } from '../../support/joined-fleet.ts'
import { patience, startMovingFleet } from '../../support/moving-fleet.ts'
import { hasPostgres } from '../../support/postgres-cluster.ts'
import { readItems } from '../../support/read-items.ts'

const path = '/v1/agents/host'

/** An event of a host, as far as tests look at it. */
interface HostEvent {
  readonly type: string
  readonly subject: { readonly kind: string; readonly id: string }
  readonly data: {
    readonly from?: string
    readonly to?: string
    readonly wanted?: string
    readonly trust?: string
    readonly reason?: { readonly code: string } | null
  }
  readonly actor: { readonly type: string }
}

async function eventsOf(reader: TestHost, subject: string, query = ''): Promise<readonly HostEvent[]> {
  const { status, json } = await reader.server.ask('GET', `${path}/event?subject=${subject}&limit=100${query}`)
  expect(status).toBe(200)
  return json.data
}

/** Waits for the last event of a host. Each state begins where the one before has ended. */
async function untilLast(reader: TestHost, { hostId }: TestHost, type: string): Promise<readonly HostEvent[]> {
  const events = await vi.waitUntil(async () => {
    const found = await eventsOf(reader, hostId)
    return found.at(-1)?.type === type ? found : null
  }, patience)
  const states = events.filter(({ data }) => data.to !== undefined)
  for (const [at, { type: told, data }] of states.entries()) {
    expect(told).toBe(`host.${data.to}`)
    if (at > 0) expect(data.from).toBe(states[at - 1]?.data.to)
  }
  return events
}

test.each(fleetStores)('over %s each state of a host is an event, with who wanted it', async (_, open) => {
  const store = await open()
  const one = await startHost(store)
  const two = await startHost(store)
  const change = (verb: string, json?: object) => one.server.ask('POST', `${path}/${two.hostId}/${verb}`, { json })
  const types = async () => (await eventsOf(one, two.hostId)).map(({ type }) => type)
  await untilLast(one, two, 'host.ready')
  expect(await types()).toEqual(['host.joined', 'host.joining', 'host.ready'])
  await using items = await readItems(one.server, `${path}/event?follow=true&cursor=latest&subject=${two.hostId}`)
  for (const verb of ['cordon', 'cordon', 'uncordon']) {
    expect((await change(verb)).status).toBe(204)
    await untilLast(one, two, verb === 'cordon' ? 'host.cordoned' : 'host.ready')
  }
  const followed: HostEvent[] = []
  while (followed.length < 4) followed.push(await items.next())
  expect(followed.map(({ type, data, actor, subject }) => [type, data.wanted ?? data.to, actor.type, subject])).toEqual(
    [
      ['host.updated', 'cordoned', 'key', { kind: 'host', id: two.hostId }],
      ['host.cordoned', 'cordoned', 'service', { kind: 'host', id: two.hostId }],
      ['host.updated', 'ready', 'key', { kind: 'host', id: two.hostId }],
      ['host.ready', 'ready', 'service', { kind: 'host', id: two.hostId }],
    ],
  )
  two.cable.isCut = true
  expect((await change('lost', { force: true })).status).toBe(204)
  expect((await change('lost', { force: true })).status).toBe(204)
  expect((await untilLast(one, two, 'host.lost')).at(-1)?.data.reason?.code).toBe('declared_lost')
  expect((await change('forget')).status).toBe(204)
  await untilLast(one, two, 'host.gone')
  const lost = await eventsOf(one, two.hostId, '&type=host.lost,host.gone&order=desc')
  expect(lost.map(({ type }) => type)).toEqual(['host.gone', 'host.lost'])
})

test('a service that stops and starts, and a host that is emptied, tell so', async () => {
  const { hosts } = await startMovingFleet(2)
  const [one, two] = hosts as [TestHost, TestHost]
  const again = await two.restart()
  const restarted = await untilLast(one, again, 'host.ready')
  const codes = restarted.map(({ data }) => data.reason?.code ?? null)
  expect(codes.slice(-3)).toEqual(['stopped', 'started', null])
  expect((await one.server.ask('POST', `${path}/${again.hostId}/drain`, { json: {} })).json.drains).toBe(true)
  const drained = await untilLast(one, again, 'host.cordoned')
  expect(drained.slice(-3).map(({ type }) => type)).toEqual(['host.updated', 'host.draining', 'host.cordoned'])
  expect(drained.at(-1)?.data.reason?.code).toBe('drained')
})

test('operators alone read the events of hosts, which are in the log of no project', async () => {
  const { hosts } = await startMovingFleet(1)
  const [{ server }] = hosts as [TestHost]
  const { key } = await server.makeKey('event:read', 'runtime:read')
  expect((await server.ask('GET', `${path}/event`, { key })).json.error.details.scope).toBe('operator')
  const own = (await server.ask('GET', '/v1/agents/event?limit=100')).json.data as readonly HostEvent[]
  expect(own.filter(({ type }) => type.startsWith('host.'))).toEqual([])
  const all = (await server.ask('GET', `${path}/event?limit=100`)).json.data as readonly HostEvent[]
  expect(all.length).toBeGreaterThan(1)
  expect(all.filter(({ type }) => !hostEventTypes.some((known) => known === type))).toEqual([])
  for (const wrong of ['/v1/agents/event?type=host.*', `${path}/event?type=runtime.*`])
    expect((await server.ask('GET', wrong)).status).toBe(400)
  const hook = { url: 'https://hooks.example.com', types: ['host.lost'] }
  expect((await server.ask('POST', '/v1/agents/webhook', { json: hook })).status).toBe(400)
})

test.skipIf(!hasPostgres())('a worker writes the events of its own host', async () => {
  const { front, workers } = await startJoinedFleet(1)
  const [worker] = workers as [TestHost]
  const events = await untilLast(front, worker, 'host.ready')
  expect(events.map(({ type, data }) => [type, data.trust ?? null])).toEqual([
    ['host.joined', 'worker'],
    ['host.joining', null],
    ['host.ready', null],
  ])
})

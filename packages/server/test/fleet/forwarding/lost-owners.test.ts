import type { RequestListener } from 'node:http'
import { makeId } from '@holt/protocol'
import { describe, expect, test } from 'vitest'
import { startStubOwner, startTestFleet } from '../../support/test-fleet.ts'
import { onPostgres } from '../../support/test-store.ts'

// Each host has a copy of one SQLite file.
describe.skipIf(onPostgres)('owners that are not where the entry expects them', () => {
  test('a host that is not the owner is asked once, and the row is read again', async () => {
    const { entry, owner, hosts, runtimeId, path } = await startTestFleet({ size: 3 })
    const third = hosts[2] ?? entry
    for (const host of [entry, third]) host.owners.set(runtimeId, third.own.hostId)
    // The third host has no such runtime in its engine. The entry remembers it as the owner.
    expect((await entry.ask('GET', `${path}/commands`)).status).not.toBe(200)
    for (const host of [entry, third]) host.owners.set(runtimeId, owner.own.hostId)
    expect((await entry.ask('GET', `${path}/commands`)).status).toBe(200)
    const { text } = await entry.ask('GET', '/metrics')
    expect(text).toContain('holt_fleet_forwards_total{outcome="moved"} 1')
  })

  test('a row that stays wrong is 503, and the request is never passed on twice', async () => {
    const { entry, hosts, runtimeId, path, owner } = await startTestFleet({ size: 3 })
    const third = hosts[2] ?? entry
    entry.owners.set(runtimeId, third.own.hostId)
    const { status, json } = await entry.ask('POST', `${path}/commands`, { json: { argv: ['true'] } })
    expect([status, json.error.code]).toEqual([503, 'unavailable'])
    expect((await owner.ask('GET', `${path}/commands`)).json.data).toEqual([])
  })

  test('two hosts that name each other do not pass a request in a circle', async () => {
    const { entry, owner, runtimeId, path } = await startTestFleet()
    owner.owners.set(runtimeId, entry.own.hostId)
    const { status } = await entry.ask('GET', `${path}/commands`)
    expect(status).toBe(503)
  })

  test('a fenced host accepts nothing', async () => {
    const { entry, owner, path } = await startTestFleet()
    owner.own.fenced = true
    expect((await entry.ask('GET', `${path}/commands`)).status).toBe(503)
    owner.own.fenced = false
    expect((await entry.ask('GET', `${path}/commands`)).status).toBe(200)
  })

  test('a host that is gone or unknown is 503, and the rest works', async () => {
    const { entry, owner, path, directory, runtimeId } = await startTestFleet()
    directory.put(owner.own.hostId, owner.server.peerPort ?? 0, { isGone: true })
    expect((await entry.ask('GET', `${path}/commands`)).status).toBe(503)
    entry.owners.set(runtimeId, makeId('host'))
    expect((await entry.ask('GET', `${path}/commands`)).status).toBe(503)
    expect((await entry.ask('GET', path)).status).toBe(200)
  })

  test('a host that never accepts a request is 503 after a time', async () => {
    const fleet = await startTestFleet({ times: { acceptMs: 200 } })
    const stub = await startStubOwner(
      fleet,
      () => {},
      () => false,
    )
    fleet.entry.owners.set(fleet.runtimeId, stub.hostId)
    const { status, json } = await fleet.entry.ask('GET', `${fleet.path}/commands`)
    expect([status, json.error.code]).toEqual([503, 'unavailable'])
  })

  /** Breaks the first requests off before an answer, and answers the others. */
  function breakingFirst(count: number, bodies: string[]): RequestListener {
    let seen = 0
    return (incoming, response) => {
      seen += 1
      const isBroken = seen <= count
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.once('end', () => {
        bodies.push(String(Buffer.concat(chunks)))
        if (isBroken) response.destroy()
        else response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[],"next_cursor":null}')
      })
    }
  }

  const requests = [
    ['a GET', 'GET', {}, [200, 2]],
    ['a POST', 'POST', {}, [503, 1]],
    ['a POST with an Idempotency-Key', 'POST', { 'idempotency-key': 'k' }, [200, 2]],
  ] as const

  test.each(requests)(
    'a break before the answer to %s is tried again if that is safe',
    async (_, method, headers, expected) => {
      const fleet = await startTestFleet()
      const bodies: string[] = []
      const stub = await startStubOwner(fleet, breakingFirst(1, bodies))
      fleet.entry.owners.set(fleet.runtimeId, stub.hostId)
      const { server } = fleet.entry
      const answer = await fetch(`${server.url}${fleet.path}/commands`, {
        method,
        headers: { authorization: `Bearer ${server.adminKey}`, 'content-type': 'application/json', ...headers },
        ...(method === 'POST' ? { body: '{"argv":["true"]}' } : {}),
      })
      expect([answer.status, stub.received.length]).toEqual(expected)
      expect(new Set(bodies)).toEqual(new Set([method === 'POST' ? '{"argv":["true"]}' : '']))
    },
  )

  test('a long body is not sent twice', async () => {
    const fleet = await startTestFleet()
    const stub = await startStubOwner(fleet, breakingFirst(1, []))
    fleet.entry.owners.set(fleet.runtimeId, stub.hostId)
    const { status } = await fleet.entry.ask('PUT', `${fleet.path}/files/content?path=/a`, {
      body: 'x'.repeat(100_000),
      headers: { 'idempotency-key': 'k' },
    })
    expect([status, stub.received.length]).toEqual([503, 1])
  })

  test('a request that breaks twice is 503', async () => {
    const fleet = await startTestFleet()
    const stub = await startStubOwner(fleet, breakingFirst(5, []))
    fleet.entry.owners.set(fleet.runtimeId, stub.hostId)
    expect((await fleet.entry.ask('GET', `${fleet.path}/commands`)).status).toBe(503)
    expect(stub.received).toHaveLength(2)
  })
})

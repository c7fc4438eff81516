import { createServer } from 'node:http'
import { portTokenHeader } from '@holt/protocol'
import { expect, test, vi } from 'vitest'
import type { TestHost } from '../../support/fleet.ts'
import {
  belongsToNone,
  runtimePath as path,
  patience,
  pauseAt,
  rowOf,
  startMovingFleet,
} from '../../support/moving-fleet.ts'

/** Moves a paused runtime to a host. */
async function resumeOn(fleet: Awaited<ReturnType<typeof startMovingFleet>>, host: TestHost, id: string) {
  await belongsToNone(fleet, id)
  const near = { near_host_id: host.hostId }
  await fleet.store.db.updateTable('runtimes').set(near).where('runtime_id', '=', id).execute()
  expect((await host.server.ask('POST', `${path}/${id}/resume`)).json.state).toBe('running')
  expect((await rowOf(fleet, id)).host_id).toBe(host.hostId)
}

test('the policy, the secrets and the log of decisions go along', async () => {
  const fleet = await startMovingFleet(2)
  const [one, two] = fleet.hosts as [TestHost, TestHost]
  const secret = { name: 'token', value: 'a secret value', hosts: ['api.example.com'] }
  expect((await two.server.ask('POST', '/v1/agents/secret', { json: secret })).status).toBe(201)
  const id = await one.server.makeRuntime({
    network_policy: { allow: [{ host: 'api.example.com' }] },
    secrets: ['token'],
  })
  one.gateway.of(id)?.decide({ name: 'first.example.com' })
  const before = one.gateway.of(id)?.options
  await pauseAt(one, id)
  expect(one.gateway.of(id)).toBeNull()
  await resumeOn(fleet, two, id)
  const after = two.gateway.of(id)
  expect(after?.hosts).toEqual(['api.example.com'])
  expect(after?.options.secrets.map(({ placeholder }) => placeholder)).toEqual(
    before?.secrets.map(({ placeholder }) => placeholder),
  )
  expect(after?.options.ca).toEqual(before?.ca)
  after?.decide({ name: 'second.example.com' })
  const names = async () => {
    const { text } = await one.server.ask('GET', `${path}/${id}/network/log`)
    return [...text.matchAll(/"(first|second)\.example\.com"/g)].map(([, name]) => name)
  }
  await vi.waitUntil(async () => (await names()).length === 2, patience)
  expect(await names()).toEqual(['first', 'second'])
})

test('a token of a port leads to the runtime on its next host', async () => {
  const fleet = await startMovingFleet(2)
  const [one, two] = fleet.hosts as [TestHost, TestHost]
  const id = await one.server.makeRuntime()
  const { json } = await one.server.ask('GET', `${path}/${id}/ports/3000?expires_in_secs=600`)
  await pauseAt(one, id)
  await resumeOn(fleet, two, id)
  const program = createServer((_, response) => response.end('from inside'))
  two.engine.guest(id)?.ports.listen(3000, (connection) => void program.emit('connection', connection))
  for (const { server } of [one, two]) {
    const answer = await fetch(`${server.server.url}${path}/${id}/ports/3000/proxy/`, {
      headers: { [portTokenHeader]: json.token },
    })
    expect([answer.status, await answer.text()]).toEqual([200, 'from inside'])
  }
})

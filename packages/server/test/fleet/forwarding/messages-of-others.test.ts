import { expect, test, vi } from 'vitest'
import { hostRow, type TestHost } from '../../support/fleet.ts'
import { inside } from '../../support/inside.ts'
import { runtimePath as path, patience, rowOf, startMovingFleet } from '../../support/moving-fleet.ts'
import { recordPeerMessages } from '../../support/record-peer-messages.ts'

// The value of a secret and the content of a file are in no message between hosts that is about
// another runtime.

const canaries = { secret: 'canary-of-a-secret', file: 'canary-of-a-file' }

const policy = { allow: [{ host: 'secret.example' }] }

/** Makes a runtime with the secret and the file. */
async function makeWithCanaries(host: TestHost): Promise<string> {
  const secret = { name: 'kept', value: canaries.secret, hosts: ['secret.example'] }
  expect((await host.server.ask('POST', '/v1/agents/secret', { json: secret })).status).toBe(201)
  const id = await host.server.makeRuntime({ secrets: ['kept'], network_policy: policy, timeout_secs: null })
  await inside(host.server).write(id, '/workspace/kept', canaries.file)
  return id
}

/** Uses another runtime and everything beside runtimes, through both hosts. */
async function useOthers(hosts: readonly TestHost[], id: string): Promise<void> {
  for (const { server } of hosts) {
    const at = inside(server)
    await at.write(id, '/workspace/a', 'something else')
    expect(await at.read(id, '/workspace/a')).toBe('something else')
    expect(await at.run(id, 'echo', 'here')).toBe('here\n')
    const snapshot = await server.ask('POST', `${path}/${id}/snapshot`, { json: {} })
    expect(snapshot.status, snapshot.text).toBe(201)
    const { snapshot_id } = snapshot.json
    const copy = await server.ask('POST', path, { json: { snapshot: snapshot_id } })
    expect((await server.ask('POST', `${path}/${id}/fork`, { json: { count: 1 } })).status).toBe(201)
    for (const target of [path, '/v1/agents/event', '/v1/agents/secret', '/v1/agents/snapshot', '/v1/agents/host'])
      expect((await server.ask('GET', target)).status).toBe(200)
    expect((await server.ask('DELETE', `${path}/${copy.json.runtime_id}`)).status).toBe(204)
  }
}

test('a secret and a file are in messages about their own runtime alone', async () => {
  const messages = await recordPeerMessages()
  const fleet = await startMovingFleet(2)
  const [one, two] = fleet.hosts as [TestHost, TestHost]
  const id = await makeWithCanaries(one)
  const other = await one.server.makeRuntime({ timeout_secs: null })
  const far = await two.server.makeRuntime({ timeout_secs: null })
  await useOthers(fleet.hosts, other)
  await useOthers(fleet.hosts, far)
  // The other host drains: its runtimes come here.
  await two.server.ask('POST', `/v1/agents/host/${two.hostId}/drain`, { json: {} })
  await vi.waitUntil(async () => (await hostRow(fleet.store, two)).state === 'cordoned', patience)
  await vi.waitUntil(async () => (await rowOf(fleet, far)).host_id !== two.hostId, patience)
  expect(await inside(two.server).read(far, '/workspace/a')).toBe('something else')
  // The record has all messages: those about its own runtime have the content of the file.
  expect(await inside(two.server).read(id, '/workspace/kept')).toBe(canaries.file)
  const withCanary = messages.filter(({ head, body }) =>
    Object.values(canaries).some((text) => (head + body).includes(text)),
  )
  expect(withCanary.length).toBeGreaterThan(0)
  // A forwarded request is a stream of its own, which names the runtime that it is about.
  for (const { head } of withCanary) expect(head).toContain(` ${id}`)
  expect(messages.length).toBeGreaterThan(withCanary.length)
  const said = fleet.hosts.flatMap(({ server }) => server.logged.map((each) => JSON.stringify(each)))
  expect(said.filter((text) => Object.values(canaries).some((canary) => text.includes(canary)))).toEqual([])
})

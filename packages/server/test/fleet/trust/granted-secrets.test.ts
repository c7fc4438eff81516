import { describe, expect, test, vi } from 'vitest'
import type { TestHost } from '../../support/fleet.ts'
import { startJoinedFleet } from '../../support/joined-fleet.ts'
import { runtimePath as path, patience, rowOf } from '../../support/moving-fleet.ts'
import { hasPostgres } from '../../support/postgres-cluster.ts'

const secret = { name: 'token', value: 'a secret value', hosts: ['api.example.com'] }
const wanted = { network_policy: { allow: [{ host: 'api.example.com' }] }, secrets: ['token'] }

describe.skipIf(!hasPostgres())('a worker with a role of its own', () => {
  test('gives a runtime and its children the secrets of the create, and gets their values', async () => {
    const fleet = await startJoinedFleet(2)
    const { front, workers } = fleet
    expect((await front.server.ask('POST', '/v1/agents/secret', { json: secret })).status).toBe(201)
    const made = await vi.waitUntil(async () => {
      const answer = await front.server.ask('POST', path, { json: wanted })
      return answer.status === 201 ? answer.json : null
    }, patience)
    const forked = await front.server.ask('POST', `${path}/${made.runtime_id}/fork`, { json: { count: 1 } })
    expect(forked.json.data[0].error).toBeNull()
    for (const id of [made.runtime_id, forked.json.data[0].runtime.runtime_id]) {
      const { host_id } = await rowOf(fleet, id)
      const { gateway } = workers.find(({ hostId }) => hostId === host_id) as TestHost
      const [attached] = gateway.of(id)?.options.secrets ?? []
      expect(await attached?.value()).toEqual({ value: 'a secret value', version: 1 })
    }
  })
})

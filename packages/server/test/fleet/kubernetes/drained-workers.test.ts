import { describe, expect, test, vi } from 'vitest'
import { startFakeKubernetes } from '../../support/fake-kubernetes.ts'
import { hostRow } from '../../support/fleet.ts'
import { following } from '../../support/followed-nodes.ts'
import { startJoinedFleet } from '../../support/joined-fleet.ts'
import { expectFile, makeWithFile, patience, rowOf } from '../../support/moving-fleet.ts'
import { hasPostgres } from '../../support/postgres-cluster.ts'

describe.skipIf(!hasPostgres())('workers with roles of their own', () => {
  test('a worker whose Node is cordoned empties its host, as a front wants', { timeout: 180_000 }, async () => {
    const { front, workers, store } = await startJoinedFleet(2)
    const cluster = await startFakeKubernetes()
    const id = await makeWithFile(front)
    const { host_id } = await rowOf({ store }, id)
    const [owner, other] = workers.toSorted((one) => (one.hostId === host_id ? -1 : 1))
    if (owner === undefined || other === undefined) throw new Error('there are two workers')
    for (const [name, { hostId }] of Object.entries({ one: owner, two: other })) {
      cluster.set(name, {})
      await store.db.updateTable('hosts').set({ node: name }).where('host_id', '=', hostId).execute()
    }
    const { look } = following(store, cluster, { drainOnCordon: true })
    await look()
    expect(cluster.objects.has('pods/holt-guard-one')).toBe(true)
    cluster.set('one', { unschedulable: true })
    await look()
    await vi.waitUntil(async () => (await hostRow(store, owner)).state === 'cordoned', patience)
    await vi.waitUntil(async () => (await rowOf({ store }, id)).host_id === other.hostId, patience)
    await vi.waitUntil(async () => (await rowOf({ store }, id)).state === 'running', patience)
    await expectFile(front, id)
    await look()
    expect([...cluster.objects.keys()].filter((name) => name.startsWith('pods/'))).toEqual(['pods/holt-guard-two'])
    cluster.set('one', {})
    await look()
    await vi.waitUntil(async () => (await hostRow(store, owner)).state === 'ready', patience)
  })
})

import { makeId } from '@holt/protocol'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type ClusterParts, followCluster } from '../../../src/fleet/kubernetes/follow-cluster.ts'
import { NodeGuard } from '../../../src/fleet/kubernetes/node-guard.ts'
import type { Store } from '../../../src/foundation/store/open-store.ts'
import { type FakeKubernetes, startFakeKubernetes } from '../../support/fake-kubernetes.ts'
import { hostRow, startHost, type TestHost } from '../../support/fleet.ts'
import { keepingLog } from '../../support/start-test-server.ts'
import { openTestStore } from '../../support/test-store.ts'

const bound = { timeout: 20_000 }

interface Followed {
  readonly store: Store
  readonly host: TestHost
  readonly cluster: FakeKubernetes
  readonly parts: ClusterParts
  /** The log entries about the host's wishes, in order. */
  readonly told: object[]
  /** Follows the cluster until the returned function is called. */
  follow(): () => Promise<void>
}

async function startFollowed(settings: Partial<ClusterParts['settings']> = {}): Promise<Followed> {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const host = await startHost(store)
  const cluster = await startFakeKubernetes()
  cluster.set('one', {})
  const told: object[] = []
  const parts: ClusterParts = {
    api: cluster.api,
    settings: { node: 'one', drainOnCordon: false, guardImage: null, evictionsDir: null, ...settings },
    store,
    now: Date.now,
    hosts: { rows: [], opinion: { suspects: [], lost: [], tooMany: false } },
    duties: { holds: () => false },
    hostId: host.hostId,
    role: 'all',
    log: { ...keepingLog().log, info: (facts) => void told.push(facts) },
  }
  const follow = () => {
    const closing = new AbortController()
    const ended = followCluster(parts, closing.signal)
    const stop = async () => {
      closing.abort()
      await ended
    }
    onTestFinished(stop)
    return stop
  }
  return { store, host, cluster, parts, told, follow }
}

const isWatched = ({ cluster }: Followed) => vi.waitUntil(() => cluster.watches.size > 0, bound)
const isWanted = ({ store, host }: Followed, wanted: string) =>
  vi.waitUntil(async () => (await hostRow(store, host)).wanted === wanted, bound)

test('the row of a host has its Node and its zone, and follows a cordon', async () => {
  const followed = await startFollowed()
  const { store, host, cluster } = followed
  followed.follow()
  await isWatched(followed)
  expect(await hostRow(store, host)).toMatchObject({ node: 'one', zone: 'north', wanted: 'ready' })
  cluster.set('one', { unschedulable: true })
  await isWanted(followed, 'cordoned')
  cluster.set('one', {})
  await isWanted(followed, 'ready')
  expect([...cluster.tokens]).toEqual(['Bearer token-of-the-pod'])
})

test('with drainOnCordon a cordoned Node is drained', async () => {
  const followed = await startFollowed({ drainOnCordon: true })
  followed.cluster.set('one', { unschedulable: true })
  followed.follow()
  // It is empty, so the drain may be over before its row is read.
  await expect.poll(() => followed.told, bound).toContainEqual(expect.objectContaining({ wanted: 'draining' }))
})

test('a Node that is uncordoned while the service is away makes its host ready', async () => {
  const followed = await startFollowed()
  const stop = followed.follow()
  await isWatched(followed)
  followed.cluster.set('one', { unschedulable: true })
  await isWanted(followed, 'cordoned')
  await stop()
  followed.cluster.set('one', {})
  followed.follow()
  await isWanted(followed, 'ready')
})

test('a host that an operator has cordoned stays so when its service starts', async () => {
  const followed = await startFollowed()
  const { store, host } = followed
  await store.db.updateTable('hosts').set({ wanted: 'cordoned' }).where('host_id', '=', host.hostId).execute()
  followed.follow()
  await isWatched(followed)
  expect((await hostRow(store, host)).wanted).toBe('cordoned')
})

test('a guard with a budget stands while the host has runtimes', async () => {
  const { host, store, cluster, parts } = await startFollowed()
  const spec = { namespace: 'holt', node: { name: 'one', uid: 'uid-one' }, image: 'holt:1' }
  const guard = new NodeGuard({ store, api: cluster.api, spec, log: parts.log })
  await guard.look([host.hostId])
  expect([...cluster.objects.keys()]).toEqual([])
  const id = await host.server.makeRuntime()
  await guard.look([host.hostId])
  expect([...cluster.objects.keys()].toSorted()).toEqual(['poddisruptionbudgets/holt-guard-one', 'pods/holt-guard-one'])
  const [pod, budget] = ['pods', 'poddisruptionbudgets'].map((kind) => cluster.objects.get(`${kind}/holt-guard-one`))
  expect(pod?.spec).toMatchObject({ nodeName: 'one', containers: [{ image: 'holt:1' }] })
  // Without a controller, a drain would ask for --force.
  expect(pod?.metadata.ownerReferences).toEqual([
    { apiVersion: 'v1', kind: 'Node', name: 'one', uid: 'uid-one', controller: true },
  ])
  expect(budget?.spec).toEqual({ minAvailable: 1, selector: { matchLabels: { 'holt.dev/guard': 'one' } } })
  expect(pod?.metadata.labels).toMatchObject({ 'holt.dev/guard': 'one' })

  await host.server.ask('DELETE', `/v1/agents/runtime/${id}`)
  await guard.look([host.hostId])
  expect([...cluster.objects.keys()]).toEqual([])
})

test('a guard stands while an artifact is on the disk of this host alone', async () => {
  const { host, store, cluster, parts } = await startFollowed()
  const spec = { namespace: 'holt', node: { name: 'one', uid: 'uid-one' }, image: 'holt:1' }
  const guard = new NodeGuard({ store, api: cluster.api, spec, log: parts.log })
  const unneeded = { stored_at: null, unneeded_since: null, condemned_at: null }
  const artifact = { bytes: 1, class_id: null, description_digest: null, ...unneeded }
  const add = (artifact_id: string, hostId: string) =>
    store.db
      .insertInto('artifacts')
      .values({ ...artifact, kind: 'image', artifact_id, host_id: hostId, state: 'local', made_at: 1 })
      .execute()
  await add('sha256:other', makeId('host'))
  await guard.look([host.hostId])
  expect([...cluster.objects.keys()]).toEqual([])
  await add('sha256:own', host.hostId)
  await guard.look([host.hostId])
  expect([...cluster.objects.keys()]).toContain('pods/holt-guard-one')
  await store.db.updateTable('artifacts').set({ state: 'stored' }).where('artifact_id', '=', 'sha256:own').execute()
  await guard.look([host.hostId])
  expect([...cluster.objects.keys()]).toEqual([])
})

test('a guard that somebody has removed is made again', async () => {
  const { host, store, cluster, parts } = await startFollowed()
  const spec = { namespace: 'holt', node: { name: 'one', uid: 'uid-one' }, image: 'holt:1' }
  const guard = new NodeGuard({ store, api: cluster.api, spec, log: parts.log })
  await host.server.makeRuntime()
  await guard.look([host.hostId])
  cluster.objects.delete('pods/holt-guard-one')
  for (let looks = 0; looks < 6; looks += 1) await guard.look([host.hostId])
  expect(cluster.objects.has('pods/holt-guard-one')).toBe(true)
})

test('a host serves requests while the API server refuses it', async () => {
  const followed = await startFollowed({ guardImage: 'holt:1' })
  const { cluster, host } = followed
  cluster.refuse = 403
  const stop = followed.follow()
  await vi.waitUntil(() => cluster.tokens.size > 0, bound)
  await host.server.makeRuntime()
  await stop()
})

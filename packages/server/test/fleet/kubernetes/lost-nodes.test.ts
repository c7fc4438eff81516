import { expect, onTestFinished, test } from 'vitest'
import { judgeOnce } from '../../../src/fleet/kubernetes/lost-nodes.ts'
import type { Store } from '../../../src/foundation/store/open-store.ts'
import { type FakeKubernetes, startFakeKubernetes } from '../../support/fake-kubernetes.ts'
import { hostRow, startHost, type TestHost } from '../../support/fleet.ts'
import { keepingLog } from '../../support/start-test-server.ts'
import { openTestStore } from '../../support/test-store.ts'

async function startSilent(): Promise<{ store: Store; host: TestHost; cluster: FakeKubernetes }> {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const host = await startHost(store)
  await store.db.updateTable('hosts').set({ node: 'one' }).execute()
  host.cable.isCut = true
  const cluster = await startFakeKubernetes()
  cluster.set('one', {})
  return { store, host, cluster }
}

/** Judges as a host that has not heard of another one for 20 s. */
async function judge({ store, host, cluster }: Awaited<ReturnType<typeof startSilent>>, isJudge = true) {
  const row = await hostRow(store, host)
  const suspect = { hostId: row.host_id, epoch: row.epoch, beat: row.beat, silentMs: 20_000 }
  await judgeOnce({
    store,
    now: Date.now,
    api: cluster.api,
    hosts: { rows: [row], opinion: { suspects: [suspect], lost: [], tooMany: false } },
    duties: { holds: () => isJudge },
    log: keepingLog().log,
  })
  return (await hostRow(store, host)).state
}

test('a silent host is lost when its Node is deleted', async () => {
  const silent = await startSilent()
  expect(await judge(silent)).toBe('ready')
  silent.cluster.deleteNode('one')
  expect(await judge(silent, false)).toBe('ready')
  expect(await judge(silent)).toBe('lost')
})

test('a silent host is lost when its Node has the taint out-of-service', async () => {
  const silent = await startSilent()
  silent.cluster.set('one', { taints: [{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }] })
  expect(await judge(silent)).toBe('ready')
  silent.cluster.set('one', { taints: [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }] })
  expect(await judge(silent)).toBe('lost')
})

test('no host is lost because the API server refuses the question', async () => {
  const silent = await startSilent()
  silent.cluster.refuse = 403
  await expect(judge(silent)).rejects.toThrow('answers 403')
})

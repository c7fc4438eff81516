import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeId } from '@holt/protocol'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { nodePath, nodeVerb } from '../../../src/fleet/kubernetes/node-verb.ts'
import { showNode } from '../../../src/fleet/kubernetes/show-node.ts'
import type { HostRow, HostWish } from '../../../src/foundation/store/tables.ts'
import { startFakeKubernetes } from '../../support/fake-kubernetes.ts'
import { type FollowOptions, following } from '../../support/followed-nodes.ts'
import { patience } from '../../support/moving-fleet.ts'
import { keepingLog } from '../../support/start-test-server.ts'
import { never } from '../../support/test-hosts.ts'
import { openTestStore } from '../../support/test-store.ts'

/** A review of a token that the API server knows, of a worker's pod on the Node `one`. */
const reviewed = {
  authenticated: true,
  audiences: ['holt'],
  user: {
    username: 'system:serviceaccount:holt:fleet-worker',
    extra: { 'authentication.kubernetes.io/node-name': ['one'] },
  },
}

async function startNodes(options: FollowOptions = {}) {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const cluster = await startFakeKubernetes()
  cluster.set('one', {})
  const add = async (node: string | null, changes: Partial<HostRow> = {}) => {
    const host_id = makeId('host')
    const facts = { epoch: 1, beat: 1, state: 'ready', wanted: 'ready', address: '', version: '1' } as const
    const more = { protocol_min: 2, protocol_max: 2, key_ids: '', boot_id: '', facts_json: '{}' }
    const times = { joined_at: 1, seen_at: 1, clock_offset: null, class_id: null, zone: null }
    const row = { host_id, node, trust: 'worker' as const, ...facts, ...more, ...times, ...changes }
    await store.db.insertInto('hosts').values(row).execute()
    return host_id
  }
  const wanted = async (id: string) => {
    const row = await store.db.selectFrom('hosts').selectAll().where('host_id', '=', id).executeTakeFirstOrThrow()
    return [row.wanted, row.follows_node]
  }
  const want = (id: string, wish: HostWish) =>
    store.db.updateTable('hosts').set({ wanted: wish }).where('host_id', '=', id).execute()
  return { store, cluster, add, wanted, want, ...following(store, cluster, options) }
}

describe('the Node of a worker', () => {
  const answerOf = async (review: object | null, trust: 'worker' | 'entry' = 'worker') => {
    const { store, cluster, add } = await startNodes()
    if (review !== null) cluster.reviews.set('of-a-pod', review)
    const hostId = await add(null, { trust })
    const verb = nodeVerb({ store, api: async () => cluster.api, log: keepingLog().log })[nodePath]
    if (verb === undefined || typeof verb === 'function') throw new Error('workers may ask for it')
    const asked = verb.answer({ token: 'of-a-pod' }, never, { hostId, trust })
    const row = () => store.db.selectFrom('hosts').select(['node', 'zone']).where('host_id', '=', hostId).execute()
    return { asked, row }
  }

  test('is that of its token, as the API server says', async () => {
    const { asked, row } = await answerOf(reviewed)
    expect(await asked).toEqual({ node: 'one' })
    expect(await row()).toEqual([{ node: 'one', zone: 'north' }])
  })

  test.each([
    ['that is not known', null],
    ['that the API server refuses', { ...reviewed, authenticated: false }],
    ['for somebody else', { ...reviewed, audiences: ['https://kubernetes.default.svc'] }],
    ['of another namespace', { ...reviewed, user: { ...reviewed.user, username: 'system:serviceaccount:web:x' } }],
    ['of a person', { ...reviewed, user: { ...reviewed.user, username: 'admin' } }],
    ['without a Node', { ...reviewed, user: { username: reviewed.user.username } }],
  ])('is not taken from a token %s', async (_, review) => {
    const { asked, row } = await answerOf(review)
    await expect(asked).rejects.toMatchObject({ code: 'forbidden' })
    expect(await row()).toEqual([{ node: null, zone: null }])
  })

  test('is not set for a host with keys, which sets its own', async () => {
    const { asked, row } = await answerOf(reviewed, 'entry')
    await asked
    expect(await row()).toEqual([{ node: null, zone: null }])
  })

  test('is shown again until a front answers', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'holt-token-'))
    onTestFinished(() => rm(dir, { recursive: true }))
    const closing = new AbortController()
    const asked: unknown[] = []
    const fronts = {
      ask: async ({ question }: { readonly question: unknown }) => {
        asked.push(question)
        return { node: 'one' }
      },
    }
    const file = join(dir, 'token')
    const kept = keepingLog()
    const shown = showNode({ fronts, log: kept.log, file }, closing.signal)
    await vi.waitUntil(() => kept.logged.some(({ level }) => level === 'warn'), patience)
    await writeFile(file, 'of-a-pod\n')
    await shown
    expect(asked).toEqual([{ token: 'of-a-pod' }])
  })
})

describe('a front that follows the Nodes of workers', () => {
  test('cordons and uncordons a worker with its Node, and no other', async () => {
    const { cluster, add, wanted, look } = await startNodes()
    cluster.set('two', {})
    const [one, two, entry] = [await add('one'), await add('two'), await add('one', { trust: 'entry' })]
    cluster.set('one', { unschedulable: true })
    await look()
    expect([await wanted(one), await wanted(two), await wanted(entry)]).toEqual([
      ['cordoned', 1],
      ['ready', 0],
      ['ready', 0],
    ])
    cluster.set('one', {})
    await look()
    expect(await wanted(one)).toEqual(['ready', 0])
  })

  test('drains it with drainOnCordon, and leaves one that an operator has cordoned', async () => {
    const { cluster, add, wanted, want, look } = await startNodes({ drainOnCordon: true })
    const [one, cordoned] = [await add('one'), await add('one')]
    await want(cordoned, 'cordoned')
    cluster.set('one', { unschedulable: true })
    await look()
    expect([await wanted(one), await wanted(cordoned)]).toEqual([
      ['draining', 1],
      ['cordoned', 0],
    ])
    cluster.set('one', {})
    await look()
    expect([await wanted(one), await wanted(cordoned)]).toEqual([
      ['ready', 0],
      ['cordoned', 0],
    ])
  })

  test('changes no wish that was changed since it was read', async () => {
    const { cluster, add, wanted, want, read, nodes } = await startNodes()
    const one = await add('one')
    cluster.set('one', { unschedulable: true })
    await read()
    await want(one, 'draining')
    await nodes.look()
    expect(await wanted(one)).toEqual(['draining', 0])
  })

  test('follows the other Nodes when one cannot be read, or was deleted', async () => {
    const { cluster, add, wanted, look } = await startNodes()
    const [deleted, one] = [await add('deleted'), await add('one')]
    cluster.set('one', { unschedulable: true })
    cluster.refuse = 500
    await look()
    expect(await wanted(one)).toEqual(['ready', 0])
    cluster.refuse = null
    await look()
    expect([await wanted(deleted), await wanted(one)]).toEqual([
      ['ready', 0],
      ['cordoned', 1],
    ])
  })

  test('does nothing without the duty', async () => {
    const { cluster, add, wanted, read, nodes } = await startNodes({ duties: { holds: () => false } })
    const one = await add('one')
    cluster.set('one', { unschedulable: true })
    await read()
    const closing = new AbortController()
    const kept = nodes.keep(closing.signal)
    closing.abort()
    await kept
    expect([await wanted(one), cluster.tokens.size]).toEqual([['ready', 0], 0])
  })

  test('guards the Node while one of its workers keeps something, until the worker is lost', async () => {
    const { store, cluster, add, look } = await startNodes()
    const host_id = await add('one')
    await add('one')
    await look()
    expect([...cluster.objects.keys()]).toEqual([])
    const unneeded = { stored_at: null, unneeded_since: null, condemned_at: null }
    const local = { bytes: 1, class_id: null, description_digest: null, state: 'local' as const, made_at: 1 }
    const artifact = { kind: 'image' as const, artifact_id: 'sha256:1', host_id, ...local, ...unneeded }
    await store.db.insertInto('artifacts').values(artifact).execute()
    await look()
    expect([...cluster.objects.keys()].toSorted()).toEqual([
      'poddisruptionbudgets/holt-guard-one',
      'pods/holt-guard-one',
    ])
    await store.db.updateTable('hosts').set({ state: 'lost' }).where('host_id', '=', host_id).execute()
    await look()
    expect([...cluster.objects.keys()]).toEqual([])
  })
})

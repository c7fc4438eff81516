import { expect, onTestFinished, test } from 'vitest'
import { newHostRow } from '../../../src/foundation/host/host-row.ts'
import { onlyHostId, openOnlyHost } from '../../../src/foundation/host/only-host.ts'
import type { Store } from '../../../src/foundation/store/open-store.ts'
import { openTestStore } from '../../support/test-store.ts'

const me = { hostId: 'hoaaaaaaaaaaaaaaaaaaaa', bootId: 'boot', version: '1.0.0', at: 1_000 }
const other = { ...me, hostId: 'hobbbbbbbbbbbbbbbbbbbb' }

async function openEmpty(): Promise<Store> {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  await store.db.insertInto('projects').values({ project_id: 'pr1', name: 'one', created_at: 1 }).execute()
  return store
}

const cached = (host_id: string, used_at: number) => ({
  ...{ project_id: 'pr1', key: 'step', host_id, type: 'image' as const, image_digest: `sha256:${used_at}` },
  ...{ checkpoint_id: null, size_bytes: 1, facts_json: '{}', created_at: 1, used_at },
})

const member = (runtime_id: string, host_id: string | null) => ({
  ...{ runtime_id, host_id, template_id: 'tm1', isolation: 'gvisor' as const, image_digest: 'sha256:1' },
  ...{ checkpoint_id: null, cpu: 1, memory_mib: 1, disk_mib: 1, state: 'ready' as const, created_at: 1 },
})

test('the first host of a store gets the rows without a host, and those of the hosts of a dump', async () => {
  const store = await openEmpty()
  const { db } = store
  await db.insertInto('store_facts').values({ name: 'clock', value: 'boot 42' }).execute()
  await db
    .insertInto('build_cache')
    .values([cached('', 1), cached(other.hostId, 2)])
    .execute()
  await db
    .insertInto('pool_members')
    // The last one is of a later epoch of this host, from the dump of a fleet.
    .values([member('rt1', null), member('rt2', other.hostId), { ...member('rt3', me.hostId), host_epoch: 4 }])
    .execute()
  expect(await openOnlyHost(store, me)).toEqual({ hostId: me.hostId, epoch: 1, fenced: false })
  const hosts = await db.selectFrom('pool_members').select(['host_id', 'host_epoch']).execute()
  expect(hosts).toEqual([1, 2, 3].map(() => ({ host_id: me.hostId, host_epoch: 1 })))
  // Two hosts had a result of the same step. One is kept.
  expect(await db.selectFrom('build_cache').select('host_id').execute()).toEqual([{ host_id: me.hostId }])
  const row = await db.selectFrom('hosts').selectAll().executeTakeFirstOrThrow()
  expect(row).toMatchObject({ boot_id: 'boot', clock_offset: 42, protocol_max: 0, state: 'ready' })
  expect(await onlyHostId(store)).toBe(me.hostId)
})

test('a later start writes nothing', async () => {
  const store = await openEmpty()
  await openOnlyHost(store, me)
  const refusing = { ...store, change: () => Promise.reject(new Error('a start must not write')) }
  expect(await openOnlyHost(refusing, me)).toEqual({ hostId: me.hostId, epoch: 1, fenced: false })
})

test('another state directory takes the store of a machine over, and not that of a fleet', async () => {
  const store = await openEmpty()
  await openOnlyHost(store, other)
  await store.db.insertInto('pool_members').values(member('rt1', other.hostId)).execute()
  await openOnlyHost(store, me)
  expect(await onlyHostId(store)).toBe(me.hostId)
  const inFleet = { ...newHostRow(other), protocol_max: 1 }
  await store.db.insertInto('hosts').values(inFleet).execute()
  await expect(openOnlyHost(store, me)).rejects.toThrow(`it has the host ${other.hostId}. Set HOLT_FLEET=1`)
  await store.db.updateTable('hosts').set({ state: 'gone' }).where('host_id', '=', other.hostId).execute()
  expect((await openOnlyHost(store, me)).hostId).toBe(me.hostId)
})

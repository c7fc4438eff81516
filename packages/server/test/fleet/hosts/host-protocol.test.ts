import { expect, onTestFinished, test } from 'vitest'
import { findStranger } from '../../../src/fleet/hosts/host-protocol.ts'
import { startHost } from '../../support/fleet.ts'
import { openTestStore } from '../../support/test-store.ts'

const host = (protocol_min: number, protocol_max: number) => ({
  ...{ host_id: 'ho1', version: '1.0.0', protocol_min, protocol_max },
})

test.each([
  [host(1, 1), true],
  [host(1, 2), false],
  [host(2, 4), false],
  [host(3, 4), false],
  [host(4, 5), true],
])('a host that speaks %j is a stranger to 2 to 3: %s', (other, isStranger) => {
  expect(findStranger([other], { min: 2, max: 3 }) !== null).toBe(isStranger)
})

test('a host does not join hosts that it cannot speak with', async () => {
  const store = await openTestStore()
  onTestFinished(() => store.close())
  const one = await startHost(store)
  await store.db
    .updateTable('hosts')
    .set({ protocol_min: 7, protocol_max: 8, version: '9.0.0' })
    .where('host_id', '=', one.hostId)
    .execute()
  await expect(startHost(store)).rejects.toThrow(`the host ${one.hostId} (9.0.0) speaks 7 to 8`)
  expect(await store.db.selectFrom('hosts').select('host_id').execute()).toHaveLength(1)
  await store.db.updateTable('hosts').set({ state: 'gone' }).execute()
  await startHost(store)
})

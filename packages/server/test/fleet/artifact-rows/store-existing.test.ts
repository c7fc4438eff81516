import { expect, test } from 'vitest'
import { setUpCollector } from '../../support/collected-artifacts.ts'

test('a failed upload does not stop the others, and is tried again', async () => {
  const { ways, make, storeAgain, store, failing } = await setUpCollector()
  const ids = [await make('a'), await make('b'), await make('c')]
  await store.db.updateTable('artifacts').set({ state: 'local', host_id: null, stored_at: null }).execute()
  ways.kept.clear()
  const [bad = ''] = [...ids].sort()
  failing.add(bad)
  await storeAgain()
  expect([...ways.kept.keys()].sort()).toEqual(ids.filter((id) => id !== bad).sort())
  failing.clear()
  await storeAgain()
  expect([...ways.kept.keys()].sort()).toEqual([...ids].sort())
})

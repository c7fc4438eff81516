import { expect, test } from 'vitest'
import { compileOnce } from '../../../src/foundation/store/compile-once.ts'
import { openSqliteStore } from '../../../src/foundation/store/sqlite-store.ts'

const counting = (store: ReturnType<typeof openSqliteStore>) => {
  let built = 0
  const query = compileOnce((_db, values) => {
    built += 1
    return store.db
      .selectFrom('runtimes')
      .select('runtime_id')
      .where('project_id', '=', String(values[0]))
      .where('runtime_id', 'in', values.slice(1).map(String))
  })
  return { query, built: () => built }
}

test('a query is compiled once for each number of values and runs with those of each call', async () => {
  const store = openSqliteStore(':memory:')
  const other = openSqliteStore(':memory:')
  try {
    const counted = counting(store)
    for (const id of ['a', 'b', 'c']) expect(await counted.query(store.db, ['pr1', id])).toEqual([])
    expect(counted.built()).toBe(1)
    await counted.query(store.db, ['pr1', 'a', 'b'])
    await counted.query(other.db, ['pr1', 'a'])
    expect(counted.built()).toBe(3)
  } finally {
    await store.close()
    await other.close()
  }
})

test('a query with its values in another order is refused', async () => {
  const store = openSqliteStore(':memory:')
  try {
    const swapped = compileOnce((db, [project, id]) =>
      db
        .selectFrom('runtimes')
        .select('runtime_id')
        .where('runtime_id', '=', String(id))
        .where('project_id', '=', String(project)),
    )
    await expect(swapped(store.db, ['pr1', 'rt1'])).rejects.toThrow('in another order')
  } finally {
    await store.close()
  }
})

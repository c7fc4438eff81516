import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { notEnded } from '../../../src/foundation/rows/not-ended.ts'
import { endedStates } from '../../../src/foundation/rows/states.ts'
import { openSqliteStore } from '../../../src/foundation/store/sqlite-store.ts'

test('a query for live runtimes reads no rows of ended ones', async () => {
  const store = openSqliteStore(':memory:')
  const live = store.db.selectFrom('runtimes').select('memory_mib').where(notEnded)
  for (const state of endedStates) expect(live.compile().sql).toContain(`'${state}'`)
  const plan = async (query: typeof live) => JSON.stringify(await query.explain(undefined, sql`query plan`))
  expect(await plan(live.where('state', '!=', 'paused'))).toContain('runtimes_live')
  expect(await plan(live.where('project_id', '=', 'one').where('name', '=', 'two'))).toContain('runtimes_live_name')
  await store.close()
})

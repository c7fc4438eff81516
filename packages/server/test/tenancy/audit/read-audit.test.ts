import type { AuditEntry, ListAuditQuery } from '@holt/protocol'
import { expect, test } from 'vitest'
import type { Store } from '../../../src/foundation/store/open-store.ts'
import { encodeCursor } from '../../../src/foundation/store/page-cursor.ts'
import type { Meant } from '../../../src/tenancy/audit/find-meant.ts'
import { OldAudit } from '../../../src/tenancy/audit/old-audit.ts'
import { examinedEntries, findEntries } from '../../../src/tenancy/audit/read-audit.ts'
import { makeProject } from '../../support/own-project.ts'
import { plansOf } from '../../support/plans-of.ts'
import { startTestServer } from '../../support/start-test-server.ts'
import { openTestStore } from '../../support/test-store.ts'

const path = '/v1/agents/audit'

/**
 * Writes entries of a project, numbered in `subject_id` and a millisecond apart; every tenth is of
 * another route, key and kind than the others.
 */
async function write(store: Store, project_id: string, count: number, from = 0): Promise<void> {
  const entries = Array.from({ length: count }, (_, index) => {
    const kind: AuditEntry['kind'] = index % 10 === 0 ? 'change' : 'inside'
    const by = index % 10 === 0 ? 'rare' : 'often'
    const about = { audit_id: `au${index}`, project_id, kind, route: by, key_id: by, subject_id: `${index}` }
    return { ...about, at: from + index, address: '127.0.0.1', params_json: '{}', count: 1, last_at: 1 }
  })
  for (let at = 0; at < count; at += 500)
    await store.db
      .insertInto('audit')
      .values(entries.slice(at, at + 500))
      .execute()
}

/** The meaning of an unknown id or name. */
const itself = (subject: string): Meant => ({ subjects: [subject], named: null })

test.each<[string, Partial<ListAuditQuery> & { readonly meant?: Meant }, readonly number[]]>([
  ['a route', { route: 'rare' }, [20, 10, 0]],
  ['a key', { key_id: 'rare' }, [20, 10, 0]],
  ['a subject', { subject: '3', meant: itself('3') }, [3]],
  ['a time', { since: new Date(3).toISOString(), until: new Date(5).toISOString() }, [4, 3]],
  ['a kind of all projects', { project: 'all', kind: 'change' }, [20, 10, 0]],
  ['a kind and a key', { kind: 'change', key_id: 'rare' }, [20, 10, 0]],
])('the entries of %s are found over pages that look at a few each', async (_, filter, expected) => {
  const store = await openTestStore()
  await write(store, 'pr1', 24)
  const found: number[] = []
  let cursor: string | undefined
  let pages = 0
  for (;;) {
    const query = { project: 'pr1', limit: 100, cursor, ...filter } as ListAuditQuery
    const { rows, lookedTo } = await findEntries(store.db, query, 4)
    expect(rows.length).toBeLessThanOrEqual(4)
    found.push(...rows.map(({ subject_id }) => Number(subject_id)))
    pages += 1
    if (lookedTo === null) break
    cursor = encodeCursor(lookedTo)
  }
  expect([found, pages > 1]).toEqual([expected, filter.kind === undefined || filter.project === 'all'])
  await store.close()
})

test('filters with an index do not scan the log', async () => {
  const indexed = [{ project: 'pr1' }, { project: 'pr1', kind: 'change' }, { project: 'all' }] as const
  for (const query of indexed) {
    const plans = await plansOf((db) => findEntries(db, { limit: 50, ...query }))
    expect(plans, JSON.stringify(query)).toHaveLength(1)
  }
  const filters = {
    key_id: 'a',
    route: 'a',
    subject: 'a',
    meant: { subjects: ['a', 'b'], named: { param: 'key_id', names: ['c'] } },
    since: '2030-01-01T00:00:00Z',
    until: '2031-01-01T00:00:00Z',
  }
  for (const query of indexed) {
    const plans = await plansOf((db) => findEntries(db, { limit: 50, ...query, ...filters }))
    const way = query.project === 'all' ? 'INTEGER PRIMARY KEY' : 'kind' in query ? 'audit_kind' : 'audit_project'
    // Nothing is sorted, and nothing is found by its time.
    expect(plans, JSON.stringify(query)).toEqual([expect.stringContaining(way), expect.stringContaining(way)])
  }
})

test('a page can be empty although older entries follow', async () => {
  const first = await startTestServer()
  const { project_id } = (await first.ask('GET', '/v1/agents/whoami')).json.project
  await first.close()
  const store = await openTestStore(first.stateDir)
  await write(store, project_id, examinedEntries + 10, Date.now())
  await store.close()
  const { ask } = await first.restart()
  const page = (await ask('GET', `${path}?subject=1`)).json
  expect(page).toEqual({ data: [], next_cursor: expect.any(String) })
})

test('long pages of one project do not delay other requests', async () => {
  const first = await startTestServer()
  const { project_id } = (await first.ask('GET', '/v1/agents/whoami')).json.project
  const other = await makeProject(first, 'other')
  await first.close()
  const store = await openTestStore(first.stateDir)
  await write(store, project_id, examinedEntries + 10, Date.now())
  await store.close()
  const { ask } = await first.restart()
  let answered = 0
  const pages = Array.from({ length: 60 }, () => ask('GET', `${path}?subject=none`).finally(() => (answered += 1)))
  for (let count = 0; count < 6; count += 1)
    expect((await ask('GET', '/v1/agents/key', { key: other.key })).status).toBe(200)
  expect(answered).toBeLessThan(20)
  await Promise.all(pages)
}, 60_000)

test('a long log is counted in steps, and removal starts after the count', async () => {
  const store = await openTestStore()
  await write(store, 'pr1', 50)
  const old = new OldAudit({ store, now: () => 0 }, { days: 400, inside: 5, change: 5 } as never, 20)
  const left = async () => (await store.db.selectFrom('audit').select('seq').execute()).length
  const steps = []
  for (let more = true; more; ) {
    more = await old.removeSome()
    steps.push([more, await left()])
  }
  expect(steps).toEqual([
    [true, 50],
    [true, 50],
    [false, 10],
  ])
  await store.close()
})

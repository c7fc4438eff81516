import { makeId } from '@holt/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { aloneWith } from '../../../src/foundation/store/alone.ts'
import { decodeCursor, encodeCursor, seqBefore } from '../../../src/foundation/store/page-cursor.ts'
import { ensureDefaultProject } from '../../../src/tenancy/keys/bootstrap.ts'
import { openTestStore } from '../../support/test-store.ts'

const event = (project_id: string) => ({
  event_id: makeId('event'),
  project_id,
  type: 'x',
  subject_id: 's',
  data_json: '{}',
  at: 1,
})

test('a change that throws is rolled back, and the next one works', async () => {
  const store = await openTestStore()
  const project = await ensureDefaultProject(store, 1)
  const failing = store.change(aloneWith(project), async (changes) => {
    await changes.insertInto('events').values(event(project)).execute()
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  expect(await store.db.selectFrom('events').selectAll().execute()).toEqual([])
  await store.change(aloneWith(project), (changes) => changes.insertInto('events').values(event(project)).execute())
  expect(await store.db.selectFrom('events').selectAll().execute()).toHaveLength(1)
  await store.close()
})

test('concurrent changes do not mix', async () => {
  const store = await openTestStore()
  const project = await ensureDefaultProject(store, 1)
  const changes = Array.from({ length: 20 }, (_, index) =>
    store
      .change(aloneWith(project), async (inner) => {
        await inner.insertInto('events').values(event(project)).execute()
        await new Promise((resolve) => setImmediate(resolve))
        if (index % 2 === 0) throw new Error('no')
      })
      .catch(() => {}),
  )
  await Promise.all(changes)
  expect(await store.db.selectFrom('events').selectAll().execute()).toHaveLength(10)
  await store.close()
})

test('reads of one moment occupy nothing afterwards, whether they succeed or not', async () => {
  const store = await openTestStore()
  for (let time = 0; time < 10; time += 1) {
    const policies = await store.atOneMoment((db) => db.selectFrom('policies').select('name').execute())
    expect(policies).toEqual([])
    await expect(store.atOneMoment(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  }
  const project = await ensureDefaultProject(store, 1)
  expect(await ensureDefaultProject(store, 2)).toBe(project)
  await store.close()
})

test('a row with an unknown project is refused', async () => {
  const store = await openTestStore()
  const policy = { policy_id: makeId('policy'), name: 'x', body_json: '{}', revision: 1, created_at: 1, updated_at: 1 }
  const inserted = store.db.insertInto('policies').values({ ...policy, project_id: 'prnone' })
  await expect(inserted.execute()).rejects.toThrow(/foreign key/i)
  await store.close()
})

test('a valid cursor is read, and anything else is refused', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      expect(decodeCursor(encodeCursor(text.toWellFormed()))).toBe(text.toWellFormed())
    }),
  )
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(() => seqBefore(text)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
    }),
  )
})

test('a change with deferred durability is visible at once, and its promise resolves', async () => {
  const store = await openTestStore()
  const project = await ensureDefaultProject(store, 1)
  await store.change(aloneWith(project), (changes) => changes.insertInto('events').values(event(project)).execute(), {
    durable: 'later',
  })
  expect(await store.db.selectFrom('events').selectAll().execute()).toHaveLength(1)
  await store.settled()
  await store.close()
})

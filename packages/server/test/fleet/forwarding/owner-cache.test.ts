import { expect, test } from 'vitest'
import { OwnerCache } from '../../../src/fleet/forwarding/owner-cache.ts'

const owned = { type: 'runtime', projectId: 'pr1', id: 'rt1' } as const

function start(hostId: string | null) {
  let now = 0
  const asked: string[] = []
  const rows = { row: hostId === null ? null : { hostId, epoch: 1 } }
  const find = async ({ type, projectId, id }: { type: string; projectId: string; id: string }) => {
    asked.push(`${type} ${projectId} ${id}`)
    return rows.row
  }
  const cache = new OwnerCache({ find, choose: find }, { hostId: 'me', monotonic: () => now })
  return { cache, asked, rows, wait: (ms: number) => (now += ms) }
}

test('another owner is remembered for 30 seconds, or until it is forgotten', async () => {
  const { cache, asked, rows, wait } = start('other')
  expect(await cache.find(owned)).toEqual({ hostId: 'other', epoch: 1 })
  rows.row = { hostId: 'third', epoch: 2 }
  wait(29_999)
  expect(await cache.find(owned)).toMatchObject({ hostId: 'other' })
  expect(asked).toHaveLength(1)
  wait(1)
  expect(await cache.find(owned)).toMatchObject({ hostId: 'third' })
  rows.row = { hostId: 'me', epoch: 3 }
  cache.forget(owned)
  expect(await cache.find(owned)).toBe(null)
})

test.each(['me', null])('the owner %s is read each time, and this host answers', async (hostId) => {
  const { cache, asked } = start(hostId)
  expect(await cache.find(owned)).toBe(null)
  expect(await cache.find(owned)).toBe(null)
  expect(asked).toHaveLength(2)
})

test('a thing of another project, or of another kind, has an owner of its own', async () => {
  const { cache, asked } = start('other')
  await cache.find(owned)
  await cache.find({ ...owned, projectId: 'pr2' })
  await cache.find({ ...owned, type: 'build' })
  expect(asked).toEqual(['runtime pr1 rt1', 'runtime pr2 rt1', 'build pr1 rt1'])
})

test('the oldest owner is forgotten first', async () => {
  const { cache, asked } = start('other')
  for (let at = 0; at <= 50_000; at += 1) await cache.find({ ...owned, id: `rt${at}` })
  asked.length = 0
  await cache.find({ ...owned, id: 'rt50000' })
  expect(asked).toEqual([])
  await cache.find({ ...owned, id: 'rt0' })
  expect(asked).toHaveLength(1)
})

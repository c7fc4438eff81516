import { setImmediate } from 'node:timers/promises'
import { KeyedLock } from '@holt/async'
import { expect, test } from 'vitest'
import { readOneByOne, yieldEventLoop } from '../../../src/foundation/store/read-one-by-one.ts'

test('reads of a project are sequential, and other work runs between them', async () => {
  const service = { reads: new KeyedLock() }
  let inside = 0
  let most = 0
  let ended = 0
  const long = Array.from({ length: 50 }, () =>
    readOneByOne(service, { projectId: 'a' }, async () => {
      most = Math.max(most, ++inside)
      for (let query = 0; query < 3; query += 1) await yieldEventLoop()
      inside -= 1
      ended += 1
    }),
  )
  await setImmediate()
  expect(await readOneByOne(service, { projectId: 'b' }, async () => 'read')).toBe('read')
  expect([most, ended <= 2]).toEqual([1, true])
  await Promise.all(long)
  expect([most, ended]).toEqual([1, 50])
})

test('a cancelled read is not made and does not delay others', async () => {
  const service = { reads: new KeyedLock() }
  const leave = new AbortController()
  const reads: string[] = []
  const read = (name: string, gone?: AbortSignal) =>
    readOneByOne(
      service,
      { projectId: 'a', ...(gone === undefined ? {} : { gone }) },
      async () => void reads.push(name),
    )
  const all = [read('first'), read('left', leave.signal), read('last')]
  leave.abort(new Error('gone'))
  expect((await Promise.allSettled(all)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(reads).toEqual(['first', 'last'])
})

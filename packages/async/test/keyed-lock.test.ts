import { expect, test } from 'vitest'
import { KeyedLock } from '../src/keyed-lock.ts'

test('runs one task at a time for a key, in order, past failures, and forgets the key', async () => {
  const lock = new KeyedLock()
  const seen: number[] = []
  const gate = Promise.withResolvers<void>()
  const works = [
    lock.run('a', async () => {
      await gate.promise
      seen.push(1)
      throw new Error('one')
    }),
    lock.run('a', async () => seen.push(2)),
    lock.run('b', async () => seen.push(0)),
  ]
  await works[2]
  expect(seen).toEqual([0])
  gate.resolve()
  await expect(works[0]).rejects.toThrow('one')
  await works[1]
  expect(seen).toEqual([0, 1, 2])
})

test('waits for all holders of a lock', async () => {
  const lock = new KeyedLock()
  const gate = Promise.withResolvers<void>()
  const done: string[] = []
  for (const key of ['a', 'a', 'b']) void lock.run(key, () => gate.promise.then(() => void done.push(key)))
  const settled = lock.settled().then(() => done.length)
  gate.resolve()
  expect(await settled).toBe(3)
})

import { expect, test } from 'vitest'
import { Semaphore } from '../src/semaphore.ts'

test('runs at most the limit at a time, in order; a failure releases its slot', async () => {
  const turns = new Semaphore(2)
  const doors = Array.from({ length: 5 }, () => Promise.withResolvers<void>())
  const begun: number[] = []
  let inside = 0
  let most = 0
  const works = doors.map((door, index) =>
    turns.run(async () => {
      begun.push(index)
      most = Math.max(most, ++inside)
      await door.promise.finally(() => {
        inside -= 1
      })
      return index
    }),
  )
  doors[0]?.reject(new Error('no'))
  await expect(works[0]).rejects.toThrow('no')
  for (const door of doors.slice(1)) door.resolve()
  expect(await Promise.all(works.slice(1))).toEqual([1, 2, 3, 4])
  expect(begun).toEqual([0, 1, 2, 3, 4])
  expect(most).toBe(2)
})

test('a slot is free again after all have ended', async () => {
  const turns = new Semaphore(1)
  await Promise.all([1, 2, 3].map((value) => turns.run(async () => value)))
  expect(await turns.run(async () => 'again')).toBe('again')
})

test('a task that is aborted while it waits leaves the queue', async () => {
  const turns = new Semaphore(1)
  const door = Promise.withResolvers<void>()
  const first = turns.run(() => door.promise)
  const stop = new AbortController()
  const second = turns.run(async () => 'second', stop.signal)
  stop.abort(new Error('gave up'))
  await expect(second).rejects.toThrow('gave up')
  door.resolve()
  await first
  expect(await turns.run(async () => 'third')).toBe('third')
})

test('a task whose signal is aborted already does not run, even if there is room', async () => {
  const turns = new Semaphore(1)
  const run = turns.run(async () => 'done', AbortSignal.abort(new Error('gave up')))
  await expect(run).rejects.toThrow('gave up')
  expect(await turns.run(async () => 'next')).toBe('next')
})

import { expect, test } from 'vitest'
import { Semaphore } from '../src/semaphore.ts'

test('runs at most the limit at a time, in order; a failure releases its slot', async () => {
  const semaphore = new Semaphore(2)
  const ends = Array.from({ length: 5 }, () => Promise.withResolvers<void>())
  const begun: number[] = []
  let inside = 0
  let most = 0
  const works = ends.map((end, index) =>
    semaphore.run(async () => {
      begun.push(index)
      most = Math.max(most, ++inside)
      await end.promise.finally(() => {
        inside -= 1
      })
      return index
    }),
  )
  ends[0]?.reject(new Error('no'))
  await expect(works[0]).rejects.toThrow('no')
  for (const end of ends.slice(1)) end.resolve()
  expect(await Promise.all(works.slice(1))).toEqual([1, 2, 3, 4])
  expect(begun).toEqual([0, 1, 2, 3, 4])
  expect(most).toBe(2)
})

test('a slot is free again after all have ended', async () => {
  const semaphore = new Semaphore(1)
  await Promise.all([1, 2, 3].map((value) => semaphore.run(async () => value)))
  expect(await semaphore.run(async () => 'again')).toBe('again')
})

test('a task that is aborted while it waits leaves the queue', async () => {
  const semaphore = new Semaphore(1)
  const end = Promise.withResolvers<void>()
  const first = semaphore.run(() => end.promise)
  const stop = new AbortController()
  const second = semaphore.run(async () => 'second', stop.signal)
  stop.abort(new Error('gave up'))
  await expect(second).rejects.toThrow('gave up')
  end.resolve()
  await first
  expect(await semaphore.run(async () => 'third')).toBe('third')
})

test('a task whose signal is aborted already does not run, even if there is room', async () => {
  const semaphore = new Semaphore(1)
  const run = semaphore.run(async () => 'done', AbortSignal.abort(new Error('gave up')))
  await expect(run).rejects.toThrow('gave up')
  expect(await semaphore.run(async () => 'next')).toBe('next')
})

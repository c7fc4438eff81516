import { expect, test } from 'vitest'
import { Waiters } from '../src/index.ts'
import { keptOfThoseWhoLeave } from './support/pieces.ts'

const signal = () => new AbortController().signal

test('all waiters are notified, and later ones wait for the next time', async () => {
  const waiters = new Waiters()
  const first = [waiters.wait(signal()), waiters.wait(signal())]
  waiters.resolve()
  await Promise.all(first)
  const second = waiters.wait(signal())
  waiters.reject(new Error('it does not come'))
  await expect(second).rejects.toThrow('it does not come')
})

test('a cancelled waiter is forgotten', async () => {
  const waiters = new Waiters()
  expect(await keptOfThoseWhoLeave((leaving) => waiters.wait(leaving))).toBeLessThanOrEqual(1)
  expect(() => waiters.resolve()).not.toThrow()
})

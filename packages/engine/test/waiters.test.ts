import { expect, test } from 'vitest'
import { Pieces } from '../../streams/test/support/pieces.ts'
import { Waiters } from '../src/index.ts'

const signal = () => new AbortController().signal

/** What a rejection says. Nothing of it is kept here, as `expect` keeps what it has waited for. */
const hears = (promise: Promise<unknown>) => promise.catch((error: Error) => error.message)

test('all who wait are told, and those who come later wait for the next time', async () => {
  const waiters = new Waiters()
  const first = [waiters.wait(signal()), waiters.wait(signal())]
  waiters.resolve()
  await Promise.all(first)
  const second = waiters.wait(signal())
  waiters.reject(new Error('it does not come'))
  await expect(second).rejects.toThrow('it does not come')
})

test('of who waits no longer nothing is kept', async () => {
  const waiters = new Waiters()
  const pieces = new Pieces()
  for (let n = 0; n < 20; n += 1) {
    const leaving = new AbortController()
    const waiting = waiters.wait(leaving.signal)
    leaving.abort(Object.assign(new Error('left'), { of: pieces.next() }))
    expect(await hears(waiting)).toBe('left')
  }
  expect(await pieces.countKept()).toBeLessThanOrEqual(1)
  expect(() => waiters.resolve()).not.toThrow()
})

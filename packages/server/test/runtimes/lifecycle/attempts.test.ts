import { expect, test } from 'vitest'
import { Attempts } from '../../../src/runtimes/lifecycle/attempts.ts'

test('a failure is retried after a delay, and forgotten with its runtime', async () => {
  let now = 0
  let tried = 0
  const attempts = new Attempts(() => now)
  const begin = async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const work = () => {
      tried += 1
      return Promise.reject(new Error('no'))
    }
    attempts.begin({ id: 'rt1', what: 'running' }, work, () => resolve())
    await Promise.race([promise, new Promise((done) => setTimeout(done, 10))])
  }
  await begin()
  attempts.keep(new Set(['rt1']))
  await begin()
  expect(tried).toBe(1)
  now += 5_000
  await begin()
  expect(tried).toBe(2)
  attempts.keep(new Set())
  await begin()
  expect(tried).toBe(3)
})

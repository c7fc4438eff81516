import { expect, test } from 'vitest'
import { Pool } from '../../../src/runtimes/pools/pool.ts'

const shape = {} as ConstructorParameters<typeof Pool>[1]
const hourMs = 3600_000

test('a failed member is retried after a delay, which a clock change does not extend', async () => {
  let elapsedMs = 5000
  const pool = new Pool('base-small', shape, () => elapsedMs)
  pool.size = 1
  const now = Date.now()
  const fail = () => Promise.reject(new Error('no room'))
  await expect(pool.making(fail)).rejects.toThrow('no room')
  expect(pool.lacking(now)).toBe(0)
  elapsedMs += 61_000
  expect(pool.lacking(now + 61_000)).toBe(1)
  expect(pool.lacking(now - 2 * hourMs)).toBe(1)
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { chooseSealingKey, rotationState } from '../../../src/fleet/master-keys/choose-sealing-key.ts'

const ids = fc.uniqueArray(fc.constantFrom('k1', 'k2', 'k3', 'k4'), { minLength: 1 })
const hosts = fc.array(ids, { maxLength: 4 }).map((all) => all.map((keyIds, at) => ({ hostId: `ho${at}`, keyIds })))

test('a host seals with its newest key that all others open', () => {
  fc.assert(
    fc.property(ids, hosts, (own, others) => {
      const chosen = chooseSealingKey(own, others)
      const common = own.filter((id) => others.every(({ keyIds }) => keyIds.includes(id)))
      expect(chosen).toBe(common.at(-1) ?? null)
    }),
  )
})

test('a rotation waits for hosts without the key, and for those that seal with another one', () => {
  const all = [
    { hostId: 'ho1', keyIds: ['k2', 'k1'] },
    { hostId: 'ho2', keyIds: ['k1', 'k2'] },
    { hostId: 'ho3', keyIds: ['k1'] },
  ]
  expect(rotationState(['k1', 'k2'], all)).toEqual({ newestId: 'k2', lacking: ['ho3'], behind: ['ho2'] })
})

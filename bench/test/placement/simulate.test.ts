import { expect, test } from 'vitest'
import { anyHost, bestOfAll, ownHomes } from '../../placement/policies.ts'
import { type Load, simulate } from '../../placement/simulate.ts'

const small: Load = {
  sizes: {
    hosts: 100,
    places: 60,
    poolOfDefault: 16,
    poolOfOthers: 4,
    restoresAtOnce: 8,
    restoreMs: 250,
    fetchMs: 1500,
    cachedImages: 40,
  },
  createsPerSecond: 300,
  warmUpMs: 4000,
  measuredMs: 4000,
  templates: 100,
  burst: { creates: 100, overMs: 300, atMs: 1000 },
  lostShare: 0,
  slowShare: 0,
  seed: 3,
}

test('the policy of the service finds more pools and fetches less than any host does', () => {
  const own = simulate(small, ownHomes)
  const any = simulate(small, anyHost)
  expect(own.load.refused + own.burst.refused).toBe(0)
  expect(own.load.pooledShare).toBeGreaterThan(any.load.pooledShare)
  expect(own.fetches).toBeLessThan(any.fetches / 2)
})

test('the best of all hosts by old facts fills a few hosts', () => {
  const herd = simulate(small, () => bestOfAll(2000))
  const own = simulate(small, ownHomes)
  expect(herd.imbalance).toBeGreaterThan(own.imbalance)
  expect(herd.load.refused + herd.load.retries).toBeGreaterThan(0)
})

test('no create is refused while a twentieth of the hosts is lost', () => {
  const own = simulate({ ...small, lostShare: 0.05 }, ownHomes)
  expect(own.load.refused).toBe(0)
})

test('a seed gives the same result again', () => {
  expect(simulate(small, ownHomes)).toEqual(simulate(small, ownHomes))
})

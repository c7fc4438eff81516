import { setTimeout as sleep } from 'node:timers/promises'
import { HoltError } from '@holt/protocol'
import { expect, test } from 'vitest'
import { ArrivalsUnderWay } from '../../../src/runtimes/admission/arrivals-under-way.ts'

/** A host with memory for a number of runtimes, whose changes see only what was committed. */
function host(places: number) {
  const arrivals = new ArrivalsUnderWay()
  const committed = new Set<string>()
  const create = (id: string, { commits = true, runs = 1 } = {}) =>
    arrivals.during(id, async () => {
      for (let run = 1; run <= runs; run += 1) {
        await sleep(Math.random() * 5)
        const before = arrivals.begin({ type: 'postgres' }, id, 1)
        const seen = [...committed].filter((other) => !before.has(other)).length
        await sleep(Math.random() * 5)
        if (seen + before.values().reduce((sum, each) => sum + each, 0) >= places)
          throw new HoltError('capacity_exhausted', 'full')
      }
      await sleep(Math.random() * 5)
      if (!commits) throw new Error('rolled back')
      committed.add(id)
    })
  return { create, committed }
}

test('runtimes that arrive at once are admitted as if they came one after another', async () => {
  for (let round = 0; round < 20; round += 1) {
    const { create, committed } = host(5)
    const runs = (index: number) => ({ runs: 1 + (index % 3) })
    const ends = await Promise.allSettled(Array.from({ length: 20 }, (_, index) => create(`rt${index}`, runs(index))))
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
    expect(committed.size).toBe(5)
  }
})

test('one that was rolled back takes no room any more', async () => {
  const { create, committed } = host(1)
  await expect(create('rt1', { commits: false })).rejects.toThrow('rolled back')
  await create('rt2')
  expect(committed).toEqual(new Set(['rt2']))
})

test('in SQLite, whose changes are alone, none is before another', () => {
  const arrivals = new ArrivalsUnderWay()
  for (const id of ['rt1', 'rt2']) expect(arrivals.begin({ type: 'sqlite' }, id, 1).size).toBe(0)
})

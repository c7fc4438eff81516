import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { FairQueue } from '../../../src/api/http/fair-queue.ts'

/** A fair queue, and what it has begun, in order. */
function makeQueue() {
  const clock = { ms: 0 }
  const queue = new FairQueue(undefined, () => clock.ms)
  const begun: string[] = []
  const add = (owner: string, name: string, isOfUse = true) =>
    queue.add(owner, () => {
      if (isOfUse) begun.push(name)
      return isOfUse
    })
  const turns = async (count: number) => {
    for (let turn = 0; turn < count; turn += 1) await nextTurn()
  }
  return { queue, clock, begun, add, turns }
}

test('starts a few jobs per turn, in order for each owner and in rotation between owners', async () => {
  const { begun, add, turns } = makeQueue()
  for (let n = 0; n < 100; n += 1) add('many', `many ${n}`)
  add('one', 'one 0')
  expect(begun).toEqual([])
  await turns(4)
  expect(begun.slice(0, 4)).toEqual(['many 0', 'one 0', 'many 1', 'many 2'])
  expect(begun.length).toBeLessThan(50)
  await turns(100)
  expect(begun.filter((name) => name !== 'one 0')).toEqual(Array.from({ length: 100 }, (_, n) => `many ${n}`))
  add('later', 'later 0')
  await turns(4)
  expect(begun.at(-1)).toBe('later 0')
})

test('a cancelled job takes no turn', async () => {
  const { begun, add, turns } = makeQueue()
  for (let n = 0; n < 1_000; n += 1) add('gone', `${n}`, false)
  add('gone', 'there')
  await turns(4)
  expect(begun).toEqual(['there'])
})

test('new connections delay jobs, but only for a short time', async () => {
  const { queue, clock, begun, add, turns } = makeQueue()
  const arrivals = async (count: number) => {
    for (let turn = 0; turn < count; turn += 1) {
      queue.noteArrival()
      await nextTurn()
    }
  }
  add('one', 'one 0')
  clock.ms = 20
  await arrivals(100)
  expect(begun).toEqual([])
  clock.ms = 21
  await arrivals(1)
  expect(begun).toEqual(['one 0'])
  await turns(4)
  add('one', 'one 1')
  await arrivals(100)
  expect(begun).toEqual(['one 0'])
  await turns(2)
  expect(begun).toEqual(['one 0', 'one 1'])
})

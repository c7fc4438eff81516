import { expect, test } from 'vitest'
import { Durability } from '../../src/store/durability.ts'

/** A disk whose syncs end when the test says so. */
function slowDisk() {
  const syncs: PromiseWithResolvers<void>[] = []
  const durability = new Durability(() => {
    const sync = Promise.withResolvers<void>()
    syncs.push(sync)
    return sync.promise
  })
  return { syncs, durability }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Whether a promise has resolved by now. */
async function isDone(promise: Promise<void>): Promise<boolean> {
  let done = false
  promise.then(
    () => {
      done = true
    },
    () => undefined,
  )
  await turn()
  return done
}

test('without a commit there is nothing to wait for', async () => {
  const { durability, syncs } = slowDisk()
  await durability.settled()
  expect(syncs).toHaveLength(0)
})

test('commits that come during a sync share the next one, which begins after it', async () => {
  const { durability, syncs } = slowDisk()
  durability.committed()
  const first = durability.settled()
  await turn()
  durability.committed()
  const second = durability.settled()
  durability.committed()
  const third = durability.settled()
  await turn()
  expect(syncs).toHaveLength(1)
  syncs[0]?.resolve()
  await first
  expect(await isDone(second)).toBe(false)
  expect(syncs).toHaveLength(2)
  syncs[1]?.resolve()
  await Promise.all([second, third])
  await durability.settled()
  expect(syncs).toHaveLength(2)
})

test('a sync that began before a commit does not count for it', async () => {
  const { durability, syncs } = slowDisk()
  durability.committed()
  const first = durability.settled()
  await turn()
  durability.committed()
  syncs[0]?.resolve()
  await first
  const second = durability.settled()
  expect(await isDone(second)).toBe(false)
  syncs[1]?.resolve()
  await second
})

test('who waits for a sync that fails is told, and the next one tries again', async () => {
  const { durability, syncs } = slowDisk()
  durability.committed()
  const first = durability.settled()
  const told = expect(first).rejects.toThrow('broken')
  await turn()
  durability.committed()
  const second = durability.settled()
  syncs[0]?.reject(new Error('broken'))
  await told
  await turn()
  syncs[1]?.resolve()
  await second
})

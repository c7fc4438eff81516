import { expect, test } from 'vitest'
import { Durability } from '../../../src/foundation/store/durability.ts'

/** A disk whose syncs end when the test says so. */
function slowDisk() {
  const syncs: PromiseWithResolvers<void>[] = []
  const failures: Error[] = []
  const durability = new Durability({
    sync: () => {
      const sync = Promise.withResolvers<void>()
      syncs.push(sync)
      return sync.promise
    },
    onFailed: (error) => void failures.push(error),
  })
  return { syncs, durability, failures }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Returns true if a promise has resolved by now. */
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

test('without a commit there is no wait', async () => {
  const { durability, syncs } = slowDisk()
  await durability.settled()
  expect(syncs).toHaveLength(0)
})

test('commits during a sync share the next sync', async () => {
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

test('a sync that began before a commit does not cover it', async () => {
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

test('after a failed sync, nothing is durable: there is no new sync, and the owner is notified once', async () => {
  const { durability, syncs, failures } = slowDisk()
  durability.committed()
  const first = durability.settled()
  await turn()
  durability.committed()
  const second = durability.settled()
  const told = Promise.all([first, second].map((waiting) => expect(waiting).rejects.toThrow('the disk failed')))
  const broken = new Error('broken')
  syncs[0]?.reject(broken)
  await told
  expect(failures).toMatchObject([{ cause: broken }])

  await expect(durability.settled()).rejects.toBe(failures[0])
  expect(() => durability.committed()).toThrow('the disk failed')
  expect([syncs.length, failures.length]).toEqual([1, 1])
})

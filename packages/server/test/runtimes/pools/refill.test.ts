import { setTimeout as sleep } from 'node:timers/promises'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { expect, onTestFinished, test } from 'vitest'
import { startPooledServer } from '../../support/pooled-server.ts'

/** Longer than pools take to look again, and than refilling stands back for creates. */
const looksMs = 2200

/**
 * The host's memory, below which of it nothing is made for pools, and what is reckoned for a
 * member; in MiB.
 */
const memoryMiB = 64 * 1024
const leftMiB = Math.round(memoryMiB * 0.1) + 256
const memberMiB = 41

/** Work for pools begins within a second. This limit is for busy machines. */
const begun = { timeout: 10_000 }

/**
 * A host whose starts can be held up, and whose pools of `floor` members make nothing until it has
 * `room`.
 */
async function setUp(floor: number, facts: { readonly cpus?: number; readonly startsAtOnce?: number } = {}) {
  const starting = new Map<string, () => void>()
  let [holding, most, free] = [false, 0, leftMiB]
  const engine = new FakeEngine({
    facts: { memoryMiB, ...facts },
    before: async (verb, id) => {
      if (verb !== 'ensure') return
      const { promise, resolve } = Promise.withResolvers<void>()
      starting.set(id, resolve)
      most = Math.max(most, starting.size)
      if (!holding) setTimeout(resolve, 5) // A start that took no time could not be beside another.
      await promise
      starting.delete(id)
    },
  })
  const server = await startPooledServer({ engine, floor, freeMemoryMiB: async () => free })
  const hold = (hold: boolean) => {
    holding = hold
  }
  const release = (...ids: readonly string[]) => {
    for (const id of ids) starting.get(id)?.()
  }
  const releaseAll = () => {
    hold(false)
    release(...starting.keys())
  }
  onTestFinished(releaseAll)
  most = 0
  return {
    ...server,
    /** The starts that are under way, oldest first. */
    starting: () => [...starting.keys()],
    /** How many were at once. */
    most: () => most,
    room: (freeMiB = memoryMiB) => {
      free = freeMiB
    },
    /** Sets whether later starts wait until they are released. */
    hold,
    release,
    releaseAll,
  }
}

test.each([
  { cpus: 2, startsAtOnce: 3, atOnce: 2 },
  { cpus: 8, startsAtOnce: 8, atOnce: 4 },
  { cpus: 64, startsAtOnce: 64, atOnce: 8 },
  { cpus: 64, startsAtOnce: 2, atOnce: 1 },
])(
  'creates at most $atOnce members at a time, with $cpus processors and $startsAtOnce starts at once',
  async ({ atOnce, ...facts }) => {
    const { hold, room, starting, most, releaseAll, filled } = await setUp(12, facts)
    hold(true)
    room()
    await expect.poll(() => starting().length, begun).toBe(atOnce)
    await sleep(looksMs)
    expect(starting()).toHaveLength(atOnce)
    releaseAll()
    await filled(12)
    expect(most()).toBe(atOnce)
  },
)

test('creates as many as memory allows, including the memory of those in progress', async () => {
  const { hold, room, starting, releaseAll, filled, waiting } = await setUp(12)
  hold(true)
  room(leftMiB + 3 * memberMiB + 20)
  await expect.poll(() => starting().length, begun).toBe(3)
  await sleep(looksMs) // They have taken nothing yet: the host says what it said.
  expect(starting()).toHaveLength(3)
  room(leftMiB + 20)
  releaseAll()
  await filled(3)
  await sleep(looksMs)
  expect([starting().length, (await waiting()).length]).toEqual([0, 3])
})

test('does not delay creates: one that finds an empty pool starts beside the refill', async () => {
  const { hold, room, starting, releaseAll, filled, makeRuntime } = await setUp(12)
  hold(true)
  room()
  await expect.poll(() => starting().length, begun).toBe(4)
  const members = starting()
  hold(false)
  expect(members).not.toContain(await makeRuntime())
  expect(starting()).toEqual(members)
  releaseAll()
  await filled(12)
})

test('creates one after the other beside continuous creates, and at full rate afterwards', async () => {
  const { hold, room, starting, release, releaseAll, filled, makeRuntime } = await setUp(12)
  hold(true)
  const creating = makeRuntime({ cpu: 2 })
  await expect.poll(() => starting().length, begun).toBe(1)
  const [created = ''] = starting()
  const members = () => starting().filter((id) => id !== created)
  room()
  for (let made = 0; made < 3; made += 1) {
    await expect.poll(() => members().length, begun).toBe(1)
    const [member = ''] = members()
    await sleep(looksMs / 2)
    expect(members()).toEqual([member])
    release(member)
    await expect.poll(members, begun).not.toContain(member)
  }
  release(created)
  expect(await creating).toBe(created)
  await expect.poll(() => members().length, begun).toBe(4)
  releaseAll()
  await filled(12)
})

import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { DeliverySlots, type Destination } from '../../../src/tenancy/webhooks/delivery-slots.ts'

const limits = { all: 6, ofProject: 4, ofHost: 2 }
const never = new AbortController().signal

/** Asks for a slot, and reports when it was given. */
function ask(slots: DeliverySlots, destination: Destination, signal = never) {
  const asked = { isIn: false, entered: slots.enter(destination, signal) }
  asked.entered.then(
    () => {
      asked.isIn = true
    },
    () => {},
  )
  return asked
}

const at = (projectId: string, host: string): Destination => ({ projectId, host })

test('a host has two slots of its project, and other hosts continue', async () => {
  const slots = new DeliverySlots(limits)
  const slow = Array.from({ length: 20 }, () => ask(slots, at('a', 'slow')))
  const good = ask(slots, at('a', 'good'))
  await setImmediate()
  expect(slow.filter(({ isIn }) => isIn)).toHaveLength(2)
  expect(good.isIn).toBe(true)
})

test('a project has four slots, and others continue', async () => {
  const slots = new DeliverySlots(limits)
  const many = Array.from({ length: 20 }, (_, index) => ask(slots, at('a', `host ${index}`)))
  const other = ask(slots, at('b', 'host 0'))
  await setImmediate()
  expect(many.filter(({ isIn }) => isIn)).toHaveLength(4)
  expect(other.isIn).toBe(true)
})

test('a free slot goes to the project with the fewest', async () => {
  const slots = new DeliverySlots(limits)
  const [first] = ['1', '2', '3', '4'].map((host) => ask(slots, at('a', host)))
  for (const host of ['1', '2']) ask(slots, at('b', host))
  const again = ask(slots, at('a', '5'))
  const late = ask(slots, at('c', '1'))
  await setImmediate()
  expect([again.isIn, late.isIn]).toEqual([false, false])
  ;(await first?.entered)?.[Symbol.dispose]()
  await setImmediate()
  expect([again.isIn, late.isIn]).toEqual([false, true])
  expect((await late.entered).hasWaited).toBe(true)
})

test('a slot is released once, and a cancelled wait gets none', async () => {
  const slots = new DeliverySlots({ all: 1, ofProject: 1, ofHost: 1 })
  const first = await slots.enter(at('a', 'x'), never)
  const stop = new AbortController()
  const gone = ask(slots, at('a', 'x'), stop.signal)
  const next = ask(slots, at('a', 'x'))
  const last = ask(slots, at('a', 'x'))
  stop.abort(new Error('gone'))
  await expect(gone.entered).rejects.toThrow('gone')
  first[Symbol.dispose]()
  first[Symbol.dispose]()
  await setImmediate()
  expect([next.isIn, last.isIn]).toEqual([true, false])
})

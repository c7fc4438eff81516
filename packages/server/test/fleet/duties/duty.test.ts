import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type DutyRow, decideDuty, type SeenTurn } from '../../../src/fleet/duties/duty.ts'

const dutyMs = 30_000
const me = { hostId: 'ho1', epoch: 3 }
const other: DutyRow = { name: 'judge', host_id: 'ho2', host_epoch: 5, turn: 9 }
const bothHosts = new Map([
  ['ho1', 3],
  ['ho2', 5],
])

const decide = (row: DutyRow | null, seen: SeenTurn | null, now: number, epochs = bothHosts) =>
  decideDuty({ me, row, seen, startedAt: now, endedAt: now, epochs, dutyMs })

test('a duty that nobody has is made', () => {
  expect(decide(null, null, 0).step).toBe('make')
})

test('a host keeps its own, and takes that of its own earlier epoch', () => {
  expect(decide({ ...other, host_id: 'ho1', host_epoch: 3 }, null, 0).step).toBe('keep')
  expect(decide({ ...other, host_id: 'ho1', host_epoch: 2 }, null, 0).step).toBe('take')
})

test('a duty of a lost or unknown host is taken at once', () => {
  expect(decide(other, null, 0, new Map([['ho1', 3]])).step).toBe('take')
})

test('a duty is taken when its turn is the same for 30 s, by the clock of the host that looks', () => {
  const { step, seen } = decide(other, null, 1_000)
  expect(step).toBe('leave')
  expect(decide(other, seen, 30_999).step).toBe('leave')
  expect(decide(other, seen, 31_000).step).toBe('take')
  expect(decide({ ...other, turn: 10 }, seen, 31_000).step).toBe('leave')
  // A clock that runs backwards counts again.
  expect(decide(other, seen, 0).seen?.since).toBe(0)
})

test('a duty that is kept within its time is never taken, and one that is not is taken', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 45_000 }), { maxLength: 40 }), (pauses) => {
      let seen: SeenTurn | null = null
      let now = 0
      for (const [index, pauseMs] of pauses.entries()) {
        // The other host increments at the start of each pause, and this one reads each second.
        const begun = now
        let isTaken = false
        for (; now < begun + pauseMs; now += 1_000) {
          const decided = decide({ ...other, turn: index + 1 }, seen, now)
          seen = decided.seen
          isTaken ||= decided.step === 'take'
        }
        expect(isTaken).toBe(pauseMs > dutyMs)
      }
    }),
  )
})

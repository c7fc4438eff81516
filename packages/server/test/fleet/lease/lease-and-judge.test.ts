import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type HostsRead, look, nothingSeen, type Watch } from '../../../src/fleet/lease/judge.ts'
import { ended, isFenced, noLease, renewed } from '../../../src/fleet/lease/lease.ts'

const times = { suspectMs: 15_000, fenceMs: 240_000, verdictMs: 300_000, readGapMs: 10_000 }

/** A clock of a host: its rate, and what it shows at the real moment 0. */
interface Clock {
  readonly rate: number
  readonly from: number
}

const clock = fc.record({
  rate: fc.double({ min: 0.99, max: 1.01, noNaN: true }),
  from: fc.integer({ min: 0, max: 1e9 }),
})

const at = ({ rate, from }: Clock, realMs: number) => from + rate * realMs

const delay = (usual: number, longest: number) =>
  fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 0, max: usual }) }, fc.integer({ min: 0, max: longest }))

/** Delays of one beat, in real milliseconds: to the commit, to the answer, and until the next. */
interface BeatDelays {
  readonly toCommit: number
  readonly toAnswer: number
  /** True if the answer never arrives. */
  readonly isLost: boolean
  readonly pause: number
}

const beatDelays: fc.Arbitrary<BeatDelays> = fc.record({
  toCommit: delay(500, 400_000),
  toAnswer: delay(500, 400_000),
  isLost: fc.boolean(),
  pause: delay(10_000, 600_000),
})

/** Delays of one read of a judge: to what it shows, to its end, and until the next. */
interface ReadDelays {
  readonly toShown: number
  readonly toEnd: number
  readonly pause: number
}

/** Most reads are quick, so that the judge reads often enough to give verdicts. */
const readDelays: fc.Arbitrary<ReadDelays> = fc.record({
  toShown: fc.oneof({ weight: 99, arbitrary: fc.integer({ min: 0, max: 400 }) }, fc.integer({ min: 0, max: 20_000 })),
  toEnd: fc.oneof({ weight: 99, arbitrary: fc.integer({ min: 0, max: 400 }) }, fc.integer({ min: 0, max: 20_000 })),
  pause: fc.oneof({ weight: 99, arbitrary: fc.integer({ min: 4_000, max: 8_500 }) }, fc.constant(60_000)),
})

interface SentBeat {
  readonly sentAt: number
  readonly committedAt: number
  /** Null: no answer. */
  readonly answeredAt: number | null
}

/** Returns the beats of a host that sends one after the other, in real time. */
function sendBeats(delays: readonly BeatDelays[]): readonly SentBeat[] {
  let now = 0
  return delays.map(({ toCommit, toAnswer, isLost, pause }) => {
    const sentAt = now
    const committedAt = sentAt + toCommit
    now = committedAt + toAnswer + pause
    return { sentAt, committedAt, answeredAt: isLost ? null : committedAt + toAnswer }
  })
}

/** Returns the real moment of the first verdict of a judge that reads the beats. Null: none. */
function firstVerdict(beats: readonly SentBeat[], reads: readonly ReadDelays[], judge: Clock): number | null {
  let watch: Watch = nothingSeen
  let now = 0
  const beatsUntil = (real: number) => beats.filter(({ committedAt }) => committedAt <= real).length
  for (const { toShown, toEnd, pause } of reads) {
    const end = now + toShown + toEnd
    const beat = beatsUntil(now + toShown)
    const { watch: next, opinion } = look(
      watch,
      {
        startedAt: at(judge, now),
        endedAt: at(judge, end),
        rows: [{ host_id: 'ho1', epoch: 1, beat, state: 'ready' }],
      },
      times,
    )
    watch = next
    // The verdict compares the beat: it changes nothing if the host has sent another one.
    if (opinion.lost.length > 0 && beatsUntil(end) === beat) return end
    now = end + pause
  }
  return null
}

/** Returns true if a host is fenced at a real moment, at which there was a verdict against it. */
function isFencedAt(beats: readonly SentBeat[], host: Clock, real: number): boolean {
  const moment = (ms: number) => ({ monotonic: at(host, ms), uptime: at(host, ms) })
  // A beat that is committed after the verdict finds no row of its epoch.
  const answered = beats.filter(({ answeredAt }) => answeredAt !== null && answeredAt <= real)
  const lease = answered.reduce((held, { sentAt }) => renewed(held, moment(sentAt)), noLease)
  return isFenced(lease, moment(real), times.fenceMs)
}

test('a host is fenced at every verdict against it, and no verdict is too early', () => {
  let verdicts = 0
  fc.assert(
    fc.property(
      fc.array(beatDelays, { minLength: 1, maxLength: 6 }),
      fc.array(readDelays, { minLength: 100, maxLength: 160 }),
      clock,
      clock,
      (delays, reads, host, judge) => {
        const beats = sendBeats(delays)
        const real = firstVerdict(beats, reads, judge)
        if (real === null) return
        verdicts += 1
        expect(isFencedAt(beats, host, real)).toBe(true)
        const silentSince = beats.filter(({ committedAt }) => committedAt <= real).at(-1)?.committedAt ?? 0
        // A clock that is 1 % too quick counts 300 s in 297.
        expect(real - silentSince).toBeGreaterThanOrEqual(times.verdictMs / 1.0101)
      },
    ),
    { numRuns: 2_000 },
  )
  expect(verdicts).toBeGreaterThan(100)
})

describe('a lease', () => {
  const moment = (ms: number, sleptMs = 0) => ({ monotonic: ms, uptime: ms + sleptMs })

  test('is over at once without a beat, and after its time by either clock', () => {
    expect(isFenced(noLease, moment(0), 240_000)).toBe(true)
    const lease = renewed(noLease, moment(1_000))
    expect(isFenced(lease, moment(240_999), 240_000)).toBe(false)
    expect(isFenced(lease, moment(241_000), 240_000)).toBe(true)
    expect(isFenced(lease, moment(2_000, 239_000), 240_000)).toBe(true)
  })

  test('is over if a clock runs backwards', () => {
    expect(isFenced(renewed(noLease, moment(1_000)), moment(999), 240_000)).toBe(true)
  })

  test('is renewed by no beat after its epoch is over', () => {
    expect(isFenced(renewed(ended(noLease), moment(0)), moment(1), 240_000)).toBe(true)
  })
})

describe('a judge', () => {
  const row = (host_id: string, beat: number, state: 'ready' | 'lost' = 'ready') => ({ host_id, epoch: 1, beat, state })
  const readAt = (ms: number, ...rows: HostsRead['rows'][number][]): HostsRead => ({
    startedAt: ms,
    endedAt: ms,
    rows,
  })

  /** Reads the same rows every five seconds. */
  const watchFor = (ms: number, rows: HostsRead['rows']) => {
    let seen = look(nothingSeen, readAt(0, ...rows), times)
    for (let now = 5_000; now <= ms; now += 5_000) seen = look(seen.watch, readAt(now, ...rows), times)
    return seen
  }
  const calm = { suspects: [], lost: [], tooMany: false }

  test('suspects after 15 s, and is certain after 300 s', () => {
    const rows = [row('ho1', 7)]
    expect(watchFor(10_000, rows).opinion).toEqual(calm)
    expect(watchFor(15_000, rows).opinion.suspects).toEqual([{ hostId: 'ho1', epoch: 1, beat: 7, silentMs: 15_000 }])
    expect(watchFor(295_000, rows).opinion.lost).toEqual([])
    expect(watchFor(300_000, rows).opinion.lost.map(({ hostId }) => hostId)).toEqual(['ho1'])
  })

  test('counts again after a gap between its reads, and after its clock ran backwards', () => {
    const rows = [row('ho1', 7)]
    const { watch } = watchFor(295_000, rows)
    expect(look(watch, readAt(305_001, ...rows), times).opinion).toEqual(calm)
    expect(look(watch, readAt(200_000, ...rows), times).opinion).toEqual(calm)
  })

  test('counts again from a beat, and from another epoch', () => {
    const { watch } = watchFor(295_000, [row('ho1', 7), row('ho2', 7)])
    const { opinion } = look(watch, readAt(300_000, row('ho1', 8), { ...row('ho2', 7), epoch: 2 }), times)
    expect(opinion).toEqual(calm)
  })

  test('judges nobody twice', () => {
    expect(watchFor(400_000, [row('ho1', 7, 'lost')]).opinion).toEqual(calm)
  })

  test.each([
    { hosts: 3, silent: 2, lost: 2 },
    { hosts: 3, silent: 3, lost: 0 },
    { hosts: 40, silent: 4, lost: 4 },
    { hosts: 40, silent: 5, lost: 0 },
  ])('says that $lost of $silent silent hosts are lost, of $hosts', ({ hosts, silent, lost }) => {
    const rowsAt = (now: number) =>
      Array.from({ length: hosts }, (_, index) => row(`ho${index}`, index < silent ? 0 : now))
    let seen = look(nothingSeen, readAt(0, ...rowsAt(0)), times)
    for (let now = 5_000; now <= 300_000; now += 5_000) seen = look(seen.watch, readAt(now, ...rowsAt(now)), times)
    expect(seen.opinion.lost).toHaveLength(lost)
    expect(seen.opinion.tooMany).toBe(lost === 0)
    expect(seen.opinion.suspects).toHaveLength(silent)
  })
})

import { describe, expect, it } from 'vitest'
import {
  compare,
  compareCpu,
  compareFigures,
  compareRates,
  cpuFloorOf,
  floorOf,
  medianWithin,
  onFloor,
  rateAtLeast,
  seriesReports,
} from '../../support/report.ts'
import type { Operation, Subject } from '../../support/subject.ts'

function measured(
  series: string,
  operations: readonly Operation[],
  { wallMs = 1000, cpuMs = 50 as number | null } = {},
) {
  const subject: Subject = { series: [series], perform: async () => [], cpuMs: () => null, background: false }
  return { subject, rounds: operations.length, operations, wallMs, cpuMs }
}

function good(series: string, ...times: number[]): Operation[] {
  return times.map((ms) => ({ series, ms, error: null }))
}

const failed: Operation = { series: 'A', ms: 9999, error: 'no answer' }

describe('seriesReports', () => {
  it('counts failures in the success rate and not in the durations', () => {
    const [report] = seriesReports([measured('A', [...good('A', 10, 20, 30), failed])])
    expect(report).toMatchObject({ operations: 4, success_rate: 0.75, failures: ['no answer'] })
    expect(report?.duration?.max_ms).toBe(30)
    expect(report?.per_second).toBe(3)
  })

  it('divides the CPU time by all operations, including failed ones', () => {
    const [report] = seriesReports([measured('A', [...good('A', 10, 20, 30), failed], { cpuMs: 100 })])
    expect(report?.cpu_ms_per_operation).toBe(25)
  })

  it('has no duration if everything failed', () => {
    expect(seriesReports([measured('A', [failed])])[0]).toMatchObject({ success_rate: 0, duration: null })
  })

  it('survives JSON unchanged', () => {
    const reports = seriesReports([measured('A', good('A', 1.23456), { cpuMs: null })])
    expect(JSON.parse(JSON.stringify(reports))).toEqual(reports)
  })
})

describe('verdicts', () => {
  const series = seriesReports([
    measured('A', good('A', 10, 20, 30)),
    measured('B', good('B', 40)),
    measured('C', [{ ...failed, series: 'C' }]),
  ])

  it.each([
    [0.6, true],
    [0.5, true],
    [0.49, false],
    [null, null],
  ])('compares the two p50: at most %s of it', (atMost, met) => {
    const verdict = compare(series, { what: 'A', subject: 'A', baseline: 'B', atMost })
    expect(verdict).toMatchObject({ value: 20, baseline: { name: 'B', value: 40 }, ratio: 0.5, met })
  })

  it('is not met if either side failed', () => {
    expect(compare(series, { what: 'A', subject: 'A', baseline: 'C', atMost: 9 })).toMatchObject({
      ratio: null,
      met: false,
    })
    expect(medianWithin(series, { what: 'C', subject: 'C', ms: 1e9 })).toMatchObject({ value: null, met: false })
  })

  it('compares a median and a rate with their bounds', () => {
    expect(medianWithin(series, { what: 'A', subject: 'A', ms: 20 }).met).toBe(true)
    expect(medianWithin(series, { what: 'A', subject: 'A', ms: 19 }).met).toBe(false)
    expect(rateAtLeast(series, { what: 'A', subject: 'A', perSecond: 3 }).met).toBe(true)
    expect(rateAtLeast(series, { what: 'A', subject: 'A', perSecond: 4 }).met).toBe(false)
  })
})

describe('verdicts of rates and figures', () => {
  const series = seriesReports([
    measured('A', good('A', 1, 1, 1, 1, 1, 1)),
    measured('B', good('B', 1, 1, 1, 1)),
    measured('none', [failed]),
  ])

  it('compare the rate of one series with that of another', () => {
    const asked = { what: 'rate', subject: 'A', baseline: 'B' }
    expect(compareRates(series, { ...asked, atLeast: 1.5 })).toMatchObject({ ratio: 1.5, met: true })
    expect(compareRates(series, { ...asked, atLeast: 1.6 })).toMatchObject({ met: false })
    expect(compareRates(series, { ...asked, subject: 'unheard of', atLeast: 0 })).toMatchObject({ met: false })
  })

  it.each([
    [{ of: 'ratio', at: 'most', bound: 1.25 }, 12.5, true],
    [{ of: 'ratio', at: 'most', bound: 1.25 }, 12.6, false],
    [{ of: 'value', at: 'most', bound: 0 }, 0, true],
    [{ of: 'value', at: 'least', bound: 5 }, 4, false],
    [{ of: 'value', at: 'most', bound: 5 }, null, false],
    [null, 4, null],
  ] as const)('compare a value with %j', (target, value, met) => {
    const baseline = { name: 'B', value: 10 }
    expect(compareFigures({ what: 'memory', unit: 'MiB', value, baseline, target }).met).toBe(met)
  })
})

describe('verdicts of CPU time', () => {
  const series = seriesReports([
    measured('A', good('A', 1, 1), { cpuMs: 60 }),
    measured('B', good('B', 1, 1), { cpuMs: 40 }),
    measured('unknown', good('unknown', 1), { cpuMs: null }),
  ])

  it.each([
    [1.5, true],
    [1.49, false],
    [null, null],
  ])('compare the CPU time of one operation with that of another: at most %s of it', (atMost, met) => {
    const verdict = compareCpu(series, { what: 'CPU', subject: 'A', baseline: 'B', atMost })
    expect(verdict).toMatchObject({ value: 30, baseline: { name: 'B', value: 20 }, ratio: 1.5, met })
    expect(onFloor(verdict, cpuFloorOf(series, 'B', 'because')).floor_ratio).toBe(1.5)
  })

  it('are not met if the CPU time is unknown', () => {
    const verdict = compareCpu(series, { what: 'CPU', subject: 'A', baseline: 'unknown', atMost: 9 })
    expect(verdict).toMatchObject({ ratio: null, met: false })
  })
})

describe('floors', () => {
  const series = seriesReports([
    measured('A', good('A', 10, 20, 30)),
    measured('floor', good('floor', 4, 5, 6)),
    measured('failed', [{ ...failed, series: 'failed' }]),
  ])
  const verdict = medianWithin(series, { what: 'A', subject: 'A', ms: 20 })

  it('divide the value by the p50 of the floor and keep the rest of the verdict', () => {
    const floored = onFloor(verdict, floorOf(series, 'floor', 'because'))
    expect(floored).toEqual({ ...verdict, floor: { name: 'floor', value: 5, why: 'because' }, floor_ratio: 4 })
  })

  it.each(['failed', 'unheard of'])('have no ratio if the floor was not measured: %s', (name) => {
    expect(onFloor(verdict, floorOf(series, name, ''))).toMatchObject({ floor: { value: null }, floor_ratio: null })
  })

  it('have no ratio if the value failed', () => {
    const missing = medianWithin(series, { what: 'failed', subject: 'failed', ms: 20 })
    expect(onFloor(missing, floorOf(series, 'floor', '')).floor_ratio).toBeNull()
  })

  it('also divide rates', () => {
    const rate = rateAtLeast(series, { what: 'A', subject: 'A', perSecond: 1 })
    expect(onFloor(rate, { name: 'most', value: 12, why: '' }).floor_ratio).toBe(0.25)
  })
})

import { describe, expect, it } from 'vitest'
import { markersOf, replaceMarkedSection } from '../../support/marked-section.ts'
import { PageOfRows } from '../../support/page-of-rows.ts'
import { fullSection, missedSection, type PageRow, summarySection } from '../../support/pages.ts'
import type { RowReport, Verdict } from '../../support/report.ts'
import { figure, markdownTable, plainTable, rowText } from '../../support/table.ts'
import { someMachine } from './some-machine.ts'

const emptyPage = new PageOfRows({ summary: '', missed: '', full: '' })

const report: RowReport = {
  row: 'B9',
  title: 'a row',
  at: '2026-01-02T03:04:05.000Z',
  elapsed_secs: 7,
  load_before: [0.5, 0.4, 0.3],
  load_after: [1, 0.5, 0.3],
  series: [
    {
      name: 'ours',
      operations: 100,
      success_rate: 0.99,
      failures: ['no answer'],
      duration: { min_ms: 1, p50_ms: 2, p95_ms: 3, p99_ms: 4, max_ms: 5.4321 },
      wall_ms: 1234,
      per_second: 81.03,
      cpu_ms_per_operation: null,
    },
  ],
  verdicts: [
    {
      what: 'ours',
      value: 2,
      unit: 'ms',
      floor: { name: 'a spawn inside', value: 0.5, why: 'the kernel starts the program' },
      floor_ratio: 4,
      baseline: { name: 'theirs', value: 4 },
      ratio: 0.5,
      target: { of: 'ratio', at: 'most', bound: 0.35 },
      met: false,
    },
    {
      what: 'rate',
      value: 81.03,
      unit: '/s',
      floor: null,
      floor_ratio: null,
      baseline: null,
      ratio: null,
      target: { of: 'value', at: 'least', bound: 50 },
      met: true,
    },
  ],
  absent: ['podman run: podman is not installed'],
  notes: ['a note'],
  machine: someMachine,
}

describe('tables', () => {
  it('aligns columns for a terminal', () => {
    expect(
      plainTable(
        ['name', 'n'],
        [
          ['a', '1'],
          ['long name', '100'],
        ],
      ),
    ).toBe('name         n\na            1\nlong name  100')
  })

  it('escapes a bar in a cell on a page', () => {
    expect(markdownTable(['a'], [['x|y']])).toBe('| a |\n| --- |\n| x\\|y |')
  })

  it.each([
    [0.001234, '0.00123'],
    [12.345, '12.3'],
    [1234.5, '1235'],
  ])('shows %f as %s', (value, text) => {
    expect(figure(value)).toBe(text)
  })
})

describe('a row', () => {
  it('shows at the terminal the measured, missed, absent and failed values', () => {
    const text = rowText(report)
    for (const part of [
      '99%',
      '5.43',
      '0.5x',
      '<= 0.35x',
      'missed',
      '>= 50/s',
      'met',
      'floor: a spawn inside: the kernel starts the program',
      'absent: podman run',
      'failure of ours: no answer',
    ]) {
      expect(text).toContain(part)
    }
  })

  it('has a line for each bound on the front page, with its machine', () => {
    const section = summarySection([page('B9', { command: 'node bench/all.ts', result: report })], emptyPage)
    expect(section).toContain('| B9 | ours | 2 ms | 0.5 ms | 4x | theirs 4 ms | 0.5x | <= 0.35x | missed |')
    expect(section).toContain('kernel 6.1')
    expect(section).toContain('- Without a baseline: B9, podman run: podman is not installed.')
  })

  it('is complete on the page of figures', () => {
    const section = fullSection([page('B9', { command: 'node bench/all.ts', result: report })], emptyPage)
    expect(section).toContain('| ours | 100 | 99% | 1 | 2 | 3 | 4 | 5.43 | 1.23s | 81 | - |')
    expect(section).toContain('- Floor, a spawn inside: the kernel starts the program')
  })
})

const page = (id: string, result: PageRow['result']): PageRow => ({ id, result })

describe('the pages of several rows', () => {
  const failure = { row: 'B10', title: 'another', failed: 'the daemon has ended' }
  const rows = [
    page('B8', { command: 'node bench/all.ts', result: { ...report, row: 'B8' } }),
    page('B9', { command: 'node bench/all.ts', result: report }),
    page('B10', { command: 'node bench/all.ts', result: failure }),
    page('B11', null),
  ]

  it('name once the command that measured rows, and the rows without a measurement', () => {
    const lines = summarySection(rows, emptyPage).split('\n')
    expect(lines.filter((line) => line.includes('`node bench/all.ts`'))).toHaveLength(1)
    expect(lines.find((line) => line.includes('`node bench/all.ts`'))).toMatch(/^- B8, B9: measured 2026-01-02 by/)
    expect(lines).toContain('- Not measured: B10. the daemon has ended')
    expect(lines).toContain('- Not measured: B11.')
  })

  it('have no details of a row without a measurement', () => {
    expect(fullSection(rows, emptyPage).match(/^### \w+/gm)).toEqual(['### B8', '### B9'])
  })
})

describe('the missed targets', () => {
  const [missed, met] = report.verdicts
  const sectionOf = (verdict: Verdict | undefined) =>
    missedSection(
      verdict === undefined ? [] : [page('B9', { command: '', result: { ...report, verdicts: [verdict] } })],
      emptyPage,
    )

  it('show the target as a value of the machine, and as a multiple of the floor', () => {
    expect(sectionOf(missed)).toContain('| B9 | ours | 2 ms | 1.4 ms | 0.5 ms | 2.8x | does not exclude it |')
  })

  it('report that the floor alone exceeds the target', () => {
    const floor = { name: 'a floor', value: 2, why: '' }
    expect(missed && sectionOf({ ...missed, floor })).toContain('| 2 ms | 0.7x | out of reach')
  })

  it('compare a rate with the highest possible one', () => {
    const floor = { name: 'a floor', value: 40, why: '' }
    expect(met && sectionOf({ ...met, met: false, floor })).toContain('| 50/s | 40/s | 0.8x | out of reach')
  })

  it('are absent when every target is met', () => {
    expect(sectionOf(met)).toBe('Every target is met.')
  })
})

describe('replaceMarkedSection', () => {
  it('replaces the text between the markers and nothing else, repeatedly', () => {
    const page = 'before\n<!-- bench:begin -->\nold\n<!-- bench:end -->\nafter\n'
    const once = replaceMarkedSection(page, 'new\n', markersOf('bench')) ?? ''
    expect(once).toBe('before\n<!-- bench:begin -->\nnew\n<!-- bench:end -->\nafter\n')
    expect(replaceMarkedSection(once, 'new\n', markersOf('bench'))).toBe(once)
  })

  it.each(['no markers', '<!-- bench:begin -->', '<!-- bench:end --><!-- bench:begin -->'])(
    'refuses a page with %s',
    (page) => {
      expect(replaceMarkedSection(page, 'new', markersOf('bench'))).toBeNull()
    },
  )
})

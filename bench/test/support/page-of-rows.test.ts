import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { rows } from '../../rows/rows.ts'
import { markedSection, markersOf } from '../../support/marked-section.ts'
import { PageOfRows } from '../../support/page-of-rows.ts'
import { fullSection, missedSection, type PageRow, summarySection } from '../../support/pages.ts'
import type { RowReport } from '../../support/report.ts'
import { someMachine } from './some-machine.ts'

const unmeasured = (id: string): PageRow => ({ id, result: null })

function sectionsOf(measured: readonly PageRow[], page: PageOfRows) {
  return {
    summary: summarySection(measured, page).trim(),
    missed: missedSection(measured, page).trim(),
    full: fullSection(measured, page).trim(),
  }
}

const report: RowReport = {
  row: 'B2',
  title: 'a row',
  at: '2026-01-02T03:04:05.000Z',
  elapsed_secs: 7,
  load_before: [1, 1, 1],
  load_after: [1, 1, 1],
  series: [],
  verdicts: [
    {
      what: 'ours',
      value: 2,
      unit: 'ms',
      floor: null,
      floor_ratio: null,
      baseline: { name: 'theirs', value: 1 },
      ratio: 2,
      target: { of: 'ratio', at: 'most', bound: 1 },
      met: false,
    },
  ],
  absent: ['podman run: it is not installed'],
  notes: [],
  machine: someMachine,
}

const of = (row: string, more: Partial<RowReport> = {}): PageRow => ({
  id: row,
  result: { command: `node bench/all.ts ${row}`, result: { ...report, row, ...more } },
})

test('a page without new results stays as it is', async () => {
  const page = await readFile(new URL('../../../docs/benchmarks.md', import.meta.url), 'utf8')
  const section = (name: 'bench' | 'bench-summary' | 'bench-missed') => markedSection(page, markersOf(name)) ?? ''
  const before = { summary: section('bench-summary'), missed: section('bench-missed'), full: section('bench') }
  expect(before.full).not.toBe('')
  const kept = sectionsOf(
    rows.map(({ id }) => unmeasured(id)),
    new PageOfRows(before),
  )
  expect(kept.missed).toBe(before.missed)
  expect(kept.full).toBe(before.full)
  expect(kept.summary.split('\n').toSorted()).toEqual(
    expect.arrayContaining(
      before.summary.split('\n').filter((line) => line.startsWith('|') || line.includes('measured 2')),
    ),
  )
})

test('new results of some rows stand beside those that the page has of others', () => {
  const empty = new PageOfRows({ summary: '', missed: '', full: '' })
  const before = sectionsOf([of('B2'), of('B1'), of('B10', { absent: [] })], empty)
  const page = new PageOfRows(before)
  const again = of('B2', { at: '2026-02-03T04:05:06.000Z', absent: [], title: 'measured again' })
  const { summary, missed, full } = sectionsOf([unmeasured('B1'), again, unmeasured('B3'), unmeasured('B10')], page)
  expect(summary.split('\n').filter((line) => line.startsWith('| B'))).toHaveLength(3)
  const run = (row: string, day: string) => expect.stringMatching(`^- ${row}: measured ${day} by .* kernel 6.1,`)
  expect(summary.split('\n').filter((line) => line.startsWith('- '))).toEqual([
    run('B1', '2026-01-02'),
    run('B2', '2026-02-03'),
    run('B10', '2026-01-02'),
    '- Without a baseline: B1, podman run: it is not installed.',
    '- Not measured: B3.',
  ])
  expect(missed.split('\n').slice(2)).toHaveLength(3)
  expect(full.match(/^### .*$/gm)).toEqual(['### B1: a row', '### B2: measured again', '### B10: a row'])
})

test('a row that failed loses its earlier figures', () => {
  const page = new PageOfRows(sectionsOf([of('B1')], new PageOfRows({ summary: '', missed: '', full: '' })))
  const failed: PageRow = { id: 'B1', result: { command: 'all', result: { row: 'B1', title: 'a row', failed: 'why' } } }
  expect(sectionsOf([failed], page)).toMatchObject({ missed: 'Every target is met.', full: '' })
  expect(summarySection([failed], page)).toContain('- Not measured: B1. why')
})

import { readFile, writeFile } from 'node:fs/promises'
import { type Markers, replaceMarkedSection } from './marked-section.ts'
import type { PageOfRows } from './page-of-rows.ts'
import type { RowReport } from './report.ts'
import type { Result } from './results.ts'
import {
  floorLines,
  markdownRow,
  markdownTable,
  missedCells,
  missedHead,
  seriesCells,
  seriesHead,
  verdictCells,
  verdictHead,
} from './table.ts'

/** A row of the table, and its result; null if it was not measured. */
export interface PageRow {
  readonly id: string
  readonly result: Result | null
}

/** Returns the short table, with a line for each verdict. Unmeasured rows keep their lines. */
export function summarySection(rows: readonly PageRow[], page: PageOfRows): string {
  const lines = rows.flatMap((row) => {
    const report = reportOf(row)
    if (report === null) return isUnknown(row) ? page.summary(row.id) : []
    return report.verdicts.map((verdict) => markdownRow([row.id, ...verdictCells(verdict)]))
  })
  const table = [markdownTable(['row', ...verdictHead], []), ...lines]
  return [...table, '', ...surroundings(rows, page), '', ...gaps(rows, page)].join('\n')
}

/** Returns the table of the missed targets, with the floor beside each. */
export function missedSection(rows: readonly PageRow[], page: PageOfRows): string {
  const lines = rows.flatMap((row) => {
    const report = reportOf(row)
    if (report === null) return isUnknown(row) ? page.missed(row.id) : []
    return report.verdicts.flatMap((verdict) => {
      const cells = missedCells(verdict)
      return cells === null ? [] : [markdownRow([row.id, ...cells])]
    })
  })
  return lines.length === 0 ? 'Every target is met.' : [markdownTable(['row', ...missedHead], []), ...lines].join('\n')
}

/** Returns all results, row by row. */
export function fullSection(rows: readonly PageRow[], page: PageOfRows): string {
  return rows
    .flatMap((row) => {
      const report = reportOf(row)
      if (report === null) return isUnknown(row) ? page.full(row.id) : []
      return fullLines(report)
    })
    .join('\n')
}

function fullLines(report: RowReport): readonly string[] {
  return [
    `### ${report.row}: ${report.title}`,
    '',
    markdownTable(seriesHead, report.series.map(seriesCells)),
    '',
    markdownTable(verdictHead, report.verdicts.map(verdictCells)),
    '',
    ...floorLines(report.verdicts).map((line) => `- Floor, ${line}`),
    ...[...report.absent.map((line) => `Absent: ${line}.`), ...report.notes].map((line) => `- ${line}`),
    `- Load average ${report.load_before.join(', ')} before and ${report.load_after.join(', ')} after; ${report.elapsed_secs} s.`,
    '',
  ]
}

/** A section of a page. */
export interface Section {
  readonly path: string
  readonly markers: Markers
}

/** Rejects if the page does not have the section. */
export async function requireSection(section: Section): Promise<void> {
  await withSection(section, '')
}

/** Replaces a section. Rejects if the page does not have it. */
export async function writeSection(section: Section, text: string): Promise<void> {
  await writeFile(section.path, await withSection(section, text))
}

async function withSection({ path, markers }: Section, text: string): Promise<string> {
  const page = replaceMarkedSection(await readFile(path, 'utf8'), text, markers)
  if (page === null) throw new Error(`${path} has no ${markers.begin} followed by ${markers.end}`)
  return page
}

/** Returns true for a row of which this clone has no result. */
function isUnknown({ result }: PageRow): boolean {
  return result === null
}

function reportOf({ result }: PageRow): RowReport | null {
  return result === null || 'failed' in result.result ? null : result.result
}

/** Returns a line for each run: its rows, its command and the machine. */
function surroundings(rows: readonly PageRow[], page: PageOfRows): readonly string[] {
  const measured = rows.flatMap((row) => {
    const { id, result } = row
    const report = reportOf(row)
    const line = result !== null && report !== null ? surroundingsOf(result.command, report) : null
    const run = line ?? (isUnknown(row) ? page.run(id) : null)
    return run === null ? [] : [{ id, run }]
  })
  return [...Map.groupBy(measured, ({ run }) => run)].map(
    ([run, group]) => `- ${group.map(({ id }) => id).join(', ')}: ${run}`,
  )
}

/** Returns a line for each row that was not measured, and for each missing baseline. */
function gaps(rows: readonly PageRow[], page: PageOfRows): readonly string[] {
  return rows.flatMap(({ id, result }) => {
    if (result === null) return page.run(id) === null ? [`- Not measured: ${id}.`] : page.gaps(id)
    if ('failed' in result.result) return [`- Not measured: ${id}. ${result.result.failed}`]
    return result.result.absent.map((line) => `- Without a baseline: ${id}, ${line}.`)
  })
}

function surroundingsOf(command: string, { at, machine }: RowReport): string {
  const versions = Object.entries(machine.versions).map(([name, version]) => `${name} ${version}`)
  return `measured ${at.slice(0, 10)} by \`${command}\` on ${machine.cpus} CPUs (${machine.cpu_model}), ${machine.memory_mib} MiB, ${machine.os}, kernel ${machine.kernel}, cgroup ${machine.cgroup}, ${machine.file_system}; ${versions.join(', ')}. Times are p50.`
}

import { readFile, writeFile } from 'node:fs/promises'
import { type Markers, replaceMarkedSection } from './marked-section.ts'
import type { RowReport } from './report.ts'
import type { Result } from './results.ts'
import {
  floorLines,
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

/** Returns the short table, with a line for each verdict. */
export function summarySection(rows: readonly PageRow[]): string {
  const lines = reportsOf(rows).flatMap((report) =>
    report.verdicts.map((verdict) => [report.row, ...verdictCells(verdict)]),
  )
  return [markdownTable(['row', ...verdictHead], lines), '', ...surroundings(rows), '', ...gaps(rows)].join('\n')
}

/** Returns the table of the missed targets, with the floor beside each. */
export function missedSection(rows: readonly PageRow[]): string {
  const lines = reportsOf(rows).flatMap((report) =>
    report.verdicts.flatMap((verdict) => {
      const cells = missedCells(verdict)
      return cells === null ? [] : [[report.row, ...cells]]
    }),
  )
  return lines.length === 0 ? 'Every target is met.' : markdownTable(['row', ...missedHead], lines)
}

/** Returns all results, row by row. */
export function fullSection(rows: readonly PageRow[]): string {
  return reportsOf(rows)
    .flatMap((report) => [
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
    ])
    .join('\n')
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

function reportsOf(rows: readonly PageRow[]): readonly RowReport[] {
  return rows.flatMap(({ result }) => (result === null || 'failed' in result.result ? [] : [result.result]))
}

/** Returns a line for each run: its rows, its command and the machine. */
function surroundings(rows: readonly PageRow[]): readonly string[] {
  const measured = rows.flatMap(({ id, result }) =>
    result === null || 'failed' in result.result ? [] : [{ id, line: surroundingsOf(result.command, result.result) }],
  )
  return [...Map.groupBy(measured, ({ line }) => line)].map(
    ([line, group]) => `- ${group.map(({ id }) => id).join(', ')}: ${line}`,
  )
}

/** Returns a line for each row that was not measured, and for each missing baseline. */
function gaps(rows: readonly PageRow[]): readonly string[] {
  return rows.flatMap(({ id, result }) => {
    if (result === null) return [`- Not measured: ${id}.`]
    if ('failed' in result.result) return [`- Not measured: ${id}. ${result.result.failed}`]
    return result.result.absent.map((line) => `- Without a baseline: ${id}, ${line}.`)
  })
}

function surroundingsOf(command: string, { at, machine }: RowReport): string {
  const versions = Object.entries(machine.versions).map(([name, version]) => `${name} ${version}`)
  return `measured ${at.slice(0, 10)} by \`${command}\` on ${machine.cpus} CPUs (${machine.cpu_model}), ${machine.memory_mib} MiB, ${machine.os}, kernel ${machine.kernel}, cgroup ${machine.cgroup}, ${machine.file_system}; ${versions.join(', ')}. Times are p50.`
}

import { readFile, writeFile } from 'node:fs/promises'
import { type Markers, readMarkedSection, replaceMarkedSection } from './marked-section.ts'
import type { RowReport } from './report.ts'
import { floorLines, markdownTable, seriesCells, seriesHead, verdictCells, verdictHead } from './table.ts'

/** Returns the short table, with a line for each verdict. */
export function summarySection(reports: readonly RowReport[], command: string): string {
  const lines = reports.flatMap((report) => report.verdicts.map((verdict) => [report.row, ...verdictCells(verdict)]))
  return [markdownTable(['row', ...verdictHead], lines), '', surroundings(reports, command)].join('\n')
}

/** Returns all results, row by row. */
export function fullSection(reports: readonly RowReport[], command: string): string {
  const rows = reports.flatMap((report) => [
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
  return [surroundings(reports, command), '', ...rows].join('\n')
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

/**
 * Replaces a section by the result of `change`, and returns that. Rejects if the page does not have
 * the section.
 */
export async function writeSection(section: Section, change: (text: string) => string): Promise<string> {
  const { path, markers } = section
  const text = change(readMarkedSection(await readFile(path, 'utf8'), markers) ?? '')
  await writeFile(path, await withSection(section, text))
  return text
}

async function withSection({ path, markers }: Section, text: string): Promise<string> {
  const page = replaceMarkedSection(await readFile(path, 'utf8'), text, markers)
  if (page === null) throw new Error(`${path} has no ${markers.begin} followed by ${markers.end}`)
  return page
}

function surroundings(reports: readonly RowReport[], command: string): string {
  const [first] = reports
  if (first === undefined) return 'Nothing was measured.'
  const { machine } = first
  const versions = Object.entries(machine.versions).map(([name, version]) => `${name} ${version}`)
  return `Measured ${first.at.slice(0, 10)} by \`${command}\`: ${machine.cpus} CPUs (${machine.cpu_model}), ${machine.memory_mib} MiB, ${machine.os}, kernel ${machine.kernel}, cgroup ${machine.cgroup}, ${machine.file_system}; ${versions.join(', ')}. Times are p50.`
}

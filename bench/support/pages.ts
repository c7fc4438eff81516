import { readFile, writeFile } from 'node:fs/promises'
import { benchMarkers, readMarkedSection, replaceMarkedSection } from './marked-section.ts'
import type { RowReport } from './report.ts'
import { floorLines, markdownTable, seriesCells, seriesHead, verdictCells, verdictHead } from './table.ts'

/** The short table: a line for each bound. */
export function summarySection(reports: readonly RowReport[], command: string): string {
  const lines = reports.flatMap((report) => report.verdicts.map((verdict) => [report.row, ...verdictCells(verdict)]))
  return [markdownTable(['row', ...verdictHead], lines), '', surroundings(reports, command)].join('\n')
}

/** Everything that was measured, row by row. */
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

/** Rejects where a page has no place for a section. */
export async function requireSection(path: string): Promise<void> {
  await withSection(path, '')
}

/** Writes what `change` makes of a page's section. Rejects where the page has no place for it. */
export async function writeSection(path: string, change: (section: string) => string): Promise<void> {
  const section = readMarkedSection(await readFile(path, 'utf8')) ?? ''
  await writeFile(path, await withSection(path, change(section)))
}

async function withSection(path: string, section: string): Promise<string> {
  const page = replaceMarkedSection(await readFile(path, 'utf8'), section)
  if (page === null) throw new Error(`${path} has no ${benchMarkers.begin} followed by ${benchMarkers.end}`)
  return page
}

function surroundings(reports: readonly RowReport[], command: string): string {
  const [first] = reports
  if (first === undefined) return 'Nothing was measured.'
  const { machine } = first
  const versions = Object.entries(machine.versions).map(([name, version]) => `${name} ${version}`)
  return `Measured ${first.at.slice(0, 10)} by \`${command}\`: ${machine.cpus} CPUs (${machine.cpu_model}), ${machine.memory_mib} MiB, ${machine.os}, kernel ${machine.kernel}, cgroup ${machine.cgroup}, ${machine.file_system}; ${versions.join(', ')}. Times are p50.`
}

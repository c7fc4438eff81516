import { writeFile } from 'node:fs/promises'
import { rows } from './rows/rows.ts'
import { runRows } from './run-rows.ts'
import { headlineChart, headlinesOf, headlineTable } from './support/headlines.ts'
import { markersOf } from './support/marked-section.ts'
import { fullSection, requireSection, summarySection, writeSection } from './support/pages.ts'
import { updateFull, updateSummary } from './support/update-section.ts'

const root = new URL('..', import.meta.url).pathname
const pages = {
  full: { path: `${root}docs/benchmarks.md`, markers: markersOf('bench') },
  summary: { path: `${root}docs/benchmarks.md`, markers: markersOf('bench-summary') },
  headlines: { path: `${root}README.md`, markers: markersOf('bench') },
}
const chart = `${root}docs/images/benchmarks.svg`

// Row names come first: `node bench/all.ts B6 B12 --rounds 5`. Without names every row is measured.
const args = process.argv.slice(2)
const firstOption = args.findIndex((arg) => arg.startsWith('-'))
const named = firstOption === -1 ? args : args.slice(0, firstOption)
const ids = [...new Set(named)]
const unknown = ids.filter((id) => !rows.some((row) => row.id === id))
if (unknown.length > 0)
  throw new Error(`no such row: ${unknown.join(' ')}; there are ${rows.map(({ id }) => id).join(' ')}`)

// A missing section has to be reported before half an hour of measuring.
for (const page of Object.values(pages)) await requireSection(page)

const reports = await runRows(ids.length === 0 ? 'all' : ids, args.slice(named.length))

// A run with a failed row writes nothing, because the page would look complete.
if (reports.length === (ids.length || rows.length)) {
  const command = ['node bench/all.ts', ...args].join(' ')
  const [full, summary] = [fullSection(reports, command), summarySection(reports, command)]
  await writeSection(pages.full, (old) => (ids.length === 0 ? full : updateFull(old, full)))
  const short = await writeSection(pages.summary, (old) => (ids.length === 0 ? summary : updateSummary(old, summary)))
  const headlines = headlinesOf(short)
  await writeSection(pages.headlines, () => headlineTable(headlines))
  await writeFile(chart, headlineChart(headlines))
} else process.stderr.write('# Not every row was measured: the pages stay as they are.\n')

import { readFile, writeFile } from 'node:fs/promises'
import { rows } from './rows/rows.ts'
import { headlineChart, headlinesOf, headlineTable } from './support/headlines.ts'
import { markedSection, markersOf } from './support/marked-section.ts'
import { PageOfRows } from './support/page-of-rows.ts'
import { fullSection, missedSection, requireSection, summarySection, writeSection } from './support/pages.ts'
import { Results, resultsDir } from './support/results.ts'

const root = new URL('..', import.meta.url).pathname
const benchmarks = `${root}docs/benchmarks.md`
const results = new Results(resultsDir)
const measured = await Promise.all(rows.map(async ({ id }) => ({ id, result: await results.read(id) })))
if (measured.every(({ result }) => result === null))
  throw new Error(`${resultsDir} has no results: run \`node bench/all.ts\` first`)

// A row without a result here keeps what the page says of it, with the date and the machine.
const written = await readFile(benchmarks, 'utf8')
const page = new PageOfRows({
  summary: markedSection(written, markersOf('bench-summary')) ?? '',
  missed: markedSection(written, markersOf('bench-missed')) ?? '',
  full: markedSection(written, markersOf('bench')) ?? '',
})
const summary = summarySection(measured, page)
const headlines = headlinesOf(summary)
const sections = [
  { path: benchmarks, markers: markersOf('bench-summary'), text: summary },
  { path: benchmarks, markers: markersOf('bench-missed'), text: missedSection(measured, page) },
  { path: benchmarks, markers: markersOf('bench'), text: fullSection(measured, page) },
  { path: `${root}README.md`, markers: markersOf('bench'), text: headlineTable(headlines) },
]
// Either all pages are written or none.
for (const section of sections) await requireSection(section)
for (const section of sections) await writeSection(section, section.text)
await writeFile(`${root}docs/images/benchmarks.svg`, headlineChart(headlines))

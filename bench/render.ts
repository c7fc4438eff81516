import { writeFile } from 'node:fs/promises'
import { rows } from './rows/rows.ts'
import { headlineChart, headlinesOf, headlineTable } from './support/headlines.ts'
import { markersOf } from './support/marked-section.ts'
import { fullSection, missedSection, requireSection, summarySection, writeSection } from './support/pages.ts'
import { Results, resultsDir } from './support/results.ts'

const root = new URL('..', import.meta.url).pathname
const benchmarks = `${root}docs/benchmarks.md`
const results = new Results(resultsDir)
const measured = await Promise.all(rows.map(async ({ id }) => ({ id, result: await results.read(id) })))
if (measured.every(({ result }) => result === null))
  throw new Error(`${resultsDir} has no results: run \`node bench/all.ts\` first`)

const summary = summarySection(measured)
const headlines = headlinesOf(summary)
const sections = [
  { path: benchmarks, markers: markersOf('bench-summary'), text: summary },
  { path: benchmarks, markers: markersOf('bench-missed'), text: missedSection(measured) },
  { path: benchmarks, markers: markersOf('bench'), text: fullSection(measured) },
  { path: `${root}README.md`, markers: markersOf('bench'), text: headlineTable(headlines) },
]
// Either all pages are written or none.
for (const section of sections) await requireSection(section)
for (const section of sections) await writeSection(section, section.text)
await writeFile(`${root}docs/images/benchmarks.svg`, headlineChart(headlines))

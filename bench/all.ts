import { rows } from './rows/rows.ts'
import { runRows } from './run-rows.ts'
import { fullSection, requireSection, summarySection, writeSection } from './support/pages.ts'

const root = new URL('..', import.meta.url).pathname
const pages = { full: `${root}docs/benchmarks.md`, summary: `${root}README.md` }

// Known before half an hour of measuring, not after it.
for (const page of Object.values(pages)) await requireSection(page)

const reports = await runRows('all', process.argv.slice(2))

// A table with rows missing would look like all there is to know.
if (reports.length === rows.length) {
  await writeSection(pages.full, fullSection(reports))
  await writeSection(pages.summary, summarySection(reports))
}

import { writeFile } from 'node:fs/promises'
import { readCoverage } from './coverage-data.ts'
import { pageFile, pageOf } from './page.ts'

// Writes docs/e2b-coverage.md from the data of the last run.
await writeFile(pageFile, pageOf(readCoverage()))

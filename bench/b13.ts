import { runRows } from './run-rows.ts'

await runRows(['B13'], process.argv.slice(2))

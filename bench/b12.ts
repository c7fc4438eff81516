import { runRows } from './run-rows.ts'

await runRows(['B12'], process.argv.slice(2))

import { runRows } from './run-rows.ts'

await runRows(['B4'], process.argv.slice(2))

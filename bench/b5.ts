import { runRows } from './run-rows.ts'

await runRows(['B5'], process.argv.slice(2))

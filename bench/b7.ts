import { runRows } from './run-rows.ts'

await runRows(['B7'], process.argv.slice(2))

import { runRows } from './run-rows.ts'

await runRows(['B10'], process.argv.slice(2))

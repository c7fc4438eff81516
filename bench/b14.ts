import { runRows } from './run-rows.ts'

await runRows(['B14'], process.argv.slice(2))

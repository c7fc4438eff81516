import { runRows } from './run-rows.ts'

await runRows(['B9'], process.argv.slice(2))

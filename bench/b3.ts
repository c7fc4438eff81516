import { runRows } from './run-rows.ts'

await runRows(['B3'], process.argv.slice(2))

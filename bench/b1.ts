import { runRows } from './run-rows.ts'

await runRows(['B1'], process.argv.slice(2))

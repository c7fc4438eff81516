import { runRows } from './run-rows.ts'

await runRows(['B17'], process.argv.slice(2))

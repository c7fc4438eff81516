import { runRows } from './run-rows.ts'

await runRows(['B2'], process.argv.slice(2))

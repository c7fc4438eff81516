import { runRows } from './run-rows.ts'

await runRows(['B8'], process.argv.slice(2))

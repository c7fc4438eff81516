import { runRows } from './run-rows.ts'

await runRows(['B6'], process.argv.slice(2))

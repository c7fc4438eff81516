import { runRows } from './run-rows.ts'

await runRows(['B15'], process.argv.slice(2))

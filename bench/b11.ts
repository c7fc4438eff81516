import { runRows } from './run-rows.ts'

await runRows(['B11'], process.argv.slice(2))

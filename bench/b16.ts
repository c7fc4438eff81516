import { runRows } from './run-rows.ts'

await runRows(['B16'], process.argv.slice(2))

import { runRows } from './run-rows.ts'

await runRows(['B18'], process.argv.slice(2))

import { join } from 'node:path'
import { buildConsole } from '../packages/console/build/build-console.ts'

const [out = join(import.meta.dirname, '../dist/console'), sources] = process.argv.slice(2)

// Libraries take it for the kind of their code, and the one for developers is larger.
process.env.NODE_ENV = 'production'
// Builds the console into a directory, by default dist/console. A second argument names a file for
// the list of its sources.
await buildConsole(out, sources)
console.log(out)

import { rows } from './rows/rows.ts'
import { runRows } from './run-rows.ts'
import { parseOptions } from './support/command-line.ts'
import { Results, resultsDir } from './support/results.ts'

// Row names come first: `node bench/all.ts B6 B12 --rounds 5`. Without names every row is measured.
const args = process.argv.slice(2)
const firstOption = args.findIndex((arg) => arg.startsWith('-'))
const named = firstOption === -1 ? args : args.slice(0, firstOption)
const ids = [...new Set(named)]
const unknown = ids.filter((id) => !rows.some((row) => row.id === id))
if (unknown.length > 0)
  throw new Error(`no such row: ${unknown.join(' ')}; there are ${rows.map(({ id }) => id).join(' ')}`)

const options = args.slice(named.length)
// A wrong option must not remove results.
parseOptions(options)

const results = new Results(resultsDir)
const command = ['node bench/all.ts', ...args].join(' ')
// The result of an earlier run must not stand for a row that this run does not reach.
await results.forget(ids.length === 0 ? rows.map(({ id }) => id) : ids)
await runRows(ids.length === 0 ? 'all' : ids, options, (result) => results.keep({ command, result }))
process.stderr.write('# `node bench/render.ts` writes the pages from these results.\n')

// Prints the slowest tests and the slowest files (Go packages) of test reports, with their seconds:
// show-slowest.mjs FILE...
import { existsSync, readFileSync } from 'node:fs'
import { basename, relative } from 'node:path'

const shown = 25
const tests = []
const files = []
for (const file of process.argv.slice(2)) {
  if (!existsSync(file)) continue
  const step = basename(file, '.json')
  const text = readFileSync(file, 'utf8')
  if (step === 'go') readGo(text)
  else readVitest(text, step)
}
show('tests', tests)
show('files', files)

function readGo(text) {
  for (const line of text.split('\n')) {
    if (!line.startsWith('{')) continue
    const { Action, Package, Test, Elapsed = 0 } = JSON.parse(line)
    if (Action !== 'pass' && Action !== 'fail') continue
    if (Test === undefined) files.push({ secs: Elapsed, name: `go: ${Package}` })
    // The time of a test includes its subtests.
    else if (!Test.includes('/')) tests.push({ secs: Elapsed, name: `go: ${Package} ${Test}` })
  }
}

function readVitest(text, step) {
  for (const { name, startTime, endTime, assertionResults } of JSON.parse(text).testResults) {
    const path = `${step}: ${relative(process.cwd(), name)}`
    // The time starts with the first test: hooks before it are not in a report.
    files.push({ secs: (endTime - startTime) / 1000, name: path })
    for (const { fullName, duration } of assertionResults)
      tests.push({ secs: (duration ?? 0) / 1000, name: `${path} > ${fullName.trim()}` })
  }
}

function show(what, entries) {
  console.log(`\n== slowest ${what}, in seconds`)
  const slowest = entries.toSorted((one, other) => other.secs - one.secs).slice(0, shown)
  for (const { secs, name } of slowest) console.log(`${secs.toFixed(1).padStart(7)} ${name}`)
}

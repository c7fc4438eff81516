// Prints "PASSED FAILED SKIPPED" of a test runner's report: count-tests.mjs go|vitest FILE STATUS
import { readFileSync } from 'node:fs'

const [kind, file = '', status] = process.argv.slice(2)
const text = readFileSync(file, 'utf8')
const counts = kind === 'go' ? countGo(text) : countVitest(text)
// A runner may fail outside every test: a file that cannot be loaded, a build that fails, a time that ran out.
if (status !== '0' && counts.failed === 0) counts.failed = 1
console.log(counts.passed, counts.failed, counts.skipped)

function countGo(lines) {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  const names = { pass: 'passed', fail: 'failed', skip: 'skipped' }
  for (const line of lines.split('\n')) {
    if (!line.startsWith('{')) continue
    const { Action, Test } = JSON.parse(line)
    if (Test !== undefined && Action in names) counts[names[Action]] += 1
  }
  return counts
}

function countVitest(json) {
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests = 0 } = JSON.parse(json)
  return { passed: numPassedTests, failed: numFailedTests, skipped: numPendingTests + numTodoTests }
}

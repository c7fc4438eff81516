// Prints "PASSED FAILED SKIPPED" of a test runner's report, and then each test that failed with the beginning of why: count-tests.mjs go|vitest FILE STATUS
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

/** So much of a failure's message is shown, in characters. */
const reasonMax = 400

const [kind, file = '', status] = process.argv.slice(2)
const text = readFileSync(file, 'utf8')
const counts = kind === 'go' ? countGo(text) : countVitest(text)
// A runner may fail outside every test: a file that cannot be loaded, a build that fails, a time that ran out.
if (status !== '0' && counts.failed === 0) counts.failed = 1
console.log(counts.passed, counts.failed, counts.skipped)
for (const name of counts.names) console.log(name)

function countGo(lines) {
  const counts = { passed: 0, failed: 0, skipped: 0, names: [] }
  const results = { pass: 'passed', fail: 'failed', skip: 'skipped' }
  for (const line of lines.split('\n')) {
    if (!line.startsWith('{')) continue
    const { Action, Package, Test } = JSON.parse(line)
    if (Test === undefined || !(Action in results)) continue
    counts[results[Action]] += 1
    if (Action === 'fail') counts.names.push(`${Package} ${Test}`)
  }
  return counts
}

function countVitest(json) {
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests = 0, testResults } = JSON.parse(json)
  const names = testResults.flatMap(({ name, status, message, assertionResults }) => {
    const path = relative(process.cwd(), name)
    const failed = assertionResults.filter((test) => test.status === 'failed')
    // A file that cannot be loaded has no tests.
    if (failed.length === 0) return status === 'failed' ? [`${path}${reasonOf(message)}`] : []
    return failed.map(({ fullName, failureMessages }) => `${path} > ${fullName}${reasonOf(failureMessages[0])}`)
  })
  return { passed: numPassedTests, failed: numFailedTests, skipped: numPendingTests + numTodoTests, names }
}

function reasonOf(message = '') {
  const reason = message.split('\n    at ')[0].trim().replaceAll('\n', '\n    ').slice(0, reasonMax)
  return reason === '' ? '' : `\n    ${reason}`
}

// Prints "PASSED FAILED SKIPPED" of a test runner's report. Then prints each test that failed, with
// the beginning of the reason, and the errors outside every test that the runner's output names:
// count-tests.mjs go|vitest|junit FILE STATUS [OUTPUT]
import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { runnerErrors } from './runner-errors.mjs'

/** So much of a failure's message is shown, in characters. */
const reasonMax = 400

const [kind, file = '', status, output = ''] = process.argv.slice(2)
// A runner that was killed has written no report.
const counts = existsSync(file)
  ? { go: countGo, vitest: countVitest, junit: countJunit }[kind](readFileSync(file, 'utf8'))
  : { passed: 0, failed: 0, skipped: 0, names: [] }
const explained = counts.names.length > 0
const errors =
  status === '0' || !existsSync(output) ? [] : runnerErrors(readFileSync(output, 'utf8'), { status, explained })
// A runner may fail outside every test: a file that cannot be loaded, a build that fails, a time that ran out.
if (status !== '0' && counts.failed === 0) counts.failed = 1
console.log(counts.passed, counts.failed, counts.skipped)
for (const line of [...counts.names, ...errors]) console.log(line)

function countGo(lines) {
  const counts = { passed: 0, failed: 0, skipped: 0, names: [] }
  const results = { pass: 'passed', fail: 'failed', skip: 'skipped' }
  // The output of builds and of packages, outside their tests.
  const outputs = new Map()
  for (const line of lines.split('\n')) {
    if (!line.startsWith('{')) continue
    const { Action, Package, ImportPath, Test, Output, FailedBuild } = JSON.parse(line)
    const from = ImportPath ?? Package
    if (Test === undefined && Output !== undefined) outputs.set(from, (outputs.get(from) ?? '') + Output)
    if (Action === 'fail' && Test === undefined && !counts.names.some((name) => name.startsWith(`${Package} `)))
      counts.names.push(`${Package}${reasonOf(outputs.get(FailedBuild ?? Package))}`)
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

/** Counts the cases of pytest's JUnit XML, whose elements have attributes in double quotes. */
function countJunit(xml) {
  const counts = { passed: 0, failed: 0, skipped: 0, names: [] }
  for (const [, head, body = ''] of xml.matchAll(/<testcase ([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g)) {
    const outcome = /<(failure|error|skipped)\b/.exec(body)
    const result = { failure: 'failed', error: 'failed', skipped: 'skipped' }[outcome?.[1]] ?? 'passed'
    counts[result] += 1
    if (result !== 'failed') continue
    const name = ['classname', 'name'].map((field) => attributeOf(head, field)).join(' > ')
    counts.names.push(`${name}${reasonOf(attributeOf(/<(?:failure|error)\b[^>]*>/.exec(body)?.[0] ?? '', 'message'))}`)
  }
  return counts
}

function attributeOf(element, name) {
  const text = new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(element)?.[1] ?? ''
  const characters = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' }
  return text.replace(/&(?:#(\d+)|(\w+));/g, (all, code, word) =>
    code === undefined ? (characters[word] ?? all) : String.fromCodePoint(Number(code)),
  )
}

function reasonOf(message = '') {
  const reason = message.split('\n    at ')[0].trim().replaceAll('\n', '\n    ').slice(0, reasonMax)
  return reason === '' ? '' : `\n    ${reason}`
}

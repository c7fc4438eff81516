import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
const program = join(repository, 'scripts/lib/count-tests.mjs')
const dir = mkdtempSync(join(tmpdir(), 'holt-count-tests-'))
afterAll(() => rmSync(dir, { recursive: true }))

/** Returns the lines that count-tests.mjs prints of a report and of an output. */
function count(kind: string, status: number, { report, output }: { report?: string; output?: string }) {
  const [reportFile, outputFile] = [report, output].map((text, index) => {
    const file = join(dir, `${index}-${Math.random()}`)
    if (text !== undefined) writeFileSync(file, text)
    return file
  })
  const args = [program, kind, `${reportFile}`, `${status}`, `${outputFile}`]
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', cwd: dir })
  expect(stderr).toBe('')
  return stdout.trimEnd().split('\n')
}

const passing = JSON.stringify({ numPassedTests: 2, numFailedTests: 0, numPendingTests: 1, testResults: [] })

test('names errors outside every test, and a worker that died, in a real run of vitest', () => {
  symlinkSync(join(repository, 'node_modules'), join(dir, 'node_modules'))
  const file = (name: string, lines: string) =>
    writeFileSync(join(dir, `${name}.test.mjs`), `import { test } from 'vitest'\n${lines}`)
  const wait = 'await new Promise((resolve) => setTimeout(resolve, 200))'
  file('late', `test('passes', async () => { setTimeout(() => { throw new Error('too late') }); ${wait} })`)
  file('dead', `test('dies', async () => { process.kill(process.pid, 'SIGKILL'); ${wait} })`)
  const vitest = [join(repository, 'node_modules/vitest/vitest.mjs'), 'run', '--root', dir]
  const { NODE_OPTIONS: _options, VITEST: _vitest, ...env } = process.env
  const run = spawnSync(
    process.execPath,
    [...vitest, '--reporter=default', '--reporter=json', '--outputFile.json=out.json'],
    { encoding: 'utf8', cwd: dir, env: { ...env, FORCE_COLOR: '1' } },
  )
  expect(run.status).toBe(1)
  writeFileSync(join(dir, 'out.txt'), run.stdout + run.stderr)
  const { stdout } = spawnSync(process.execPath, [program, 'vitest', 'out.json', '1', 'out.txt'], {
    encoding: 'utf8',
    cwd: dir,
  })
  // A worker that dies early has not said that its test began: then nothing is skipped.
  expect(stdout).toMatch(/^1 1 [01]\n/)
  expect(stdout).toContain('\nError: too late\n')
  expect(stdout).toMatch(/Worker exited unexpectedly with signal SIGKILL .*dead\.test\.mjs\n/)
  expect(stdout).not.toContain('\u001b')
})

test('shows the end of the output of a runner that failed without a failed test', () => {
  const output = Array.from({ length: 100 }, (_, index) => `\u001b[31mline ${index}\u001b[39m`).join('\n')
  const [counts, heading, ...lines] = count('vitest', 1, { report: passing, output })
  expect([counts, heading, lines.length, lines.at(-1)]).toEqual(['2 1 1', 'The end of its output:', 40, 'line 99'])
})

test('says that a run without a report reached its limit', () => {
  expect(count('vitest', 124, { output: 'RUN\n' })).toEqual([
    '0 1 0',
    'Its time limit was reached, or a signal killed it.',
    'The end of its output:',
    'RUN',
  ])
  expect(count('junit', 2, {})).toEqual(['0 1 0'])
})

test('shows at most 40 lines of unhandled errors', () => {
  const errors = Array.from({ length: 60 }, (_, index) => `Error: number ${index}`)
  const output = ['⎯⎯ Unhandled Errors ⎯⎯', ...errors, '⎯⎯⎯⎯', 'Test Files 1 passed'].join('\n')
  const lines = count('vitest', 1, { report: passing, output })
  expect(lines.slice(0, 3)).toEqual(['2 1 1', '⎯⎯ Unhandled Errors ⎯⎯', 'Error: number 0'])
  expect(lines.slice(-2)).toEqual(['Error: number 38', '... and 21 more lines'])
  expect(count('vitest', 0, { report: passing, output })).toEqual(['2 0 1'])
})

test('shows unhandled errors below failed tests, and no other output', () => {
  const assertionResults = [{ status: 'failed', fullName: 'breaks', failureMessages: ['Error: broken\n    at x'] }]
  const testResults = [{ name: join(dir, 'a.test.ts'), status: 'failed', message: '', assertionResults }]
  const report = JSON.stringify({ numPassedTests: 0, numFailedTests: 1, numPendingTests: 0, testResults })
  const failure = ['0 1 0', 'a.test.ts > breaks', '    Error: broken']
  expect(count('vitest', 1, { report, output: 'FAIL a.test.ts\n' })).toEqual(failure)
  const rule = '⎯⎯ Unhandled Errors ⎯⎯'
  expect(count('vitest', 1, { report, output: `${rule}\nError: late\n⎯⎯⎯` })).toEqual([...failure, rule, 'Error: late'])
})

test('names a Go package that failed outside its tests', () => {
  const lines = [
    { Action: 'build-output', ImportPath: 'x/bad [x/bad.test]', Output: 'b.go:2: undefined: f\n' },
    { Action: 'fail', Package: 'x/bad', FailedBuild: 'x/bad [x/bad.test]' },
    { Action: 'output', Package: 'x/main', Output: 'no terminal\n' },
    { Action: 'fail', Package: 'x/main' },
    { Action: 'fail', Package: 'x/one', Test: 'TestOne' },
    { Action: 'fail', Package: 'x/one' },
    { Action: 'pass', Package: 'x/two', Test: 'TestTwo' },
  ]
  const report = lines.map((line) => JSON.stringify(line)).join('\n')
  expect(count('go', 1, { report })).toEqual([
    '1 1 0',
    'x/bad',
    '    b.go:2: undefined: f',
    'x/main',
    '    no terminal',
    'x/one TestOne',
  ])
})

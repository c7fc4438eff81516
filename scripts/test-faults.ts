import { randomInt } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Fault, faults } from './faults/faults.ts'
import { changed, makeCopy } from './faults/make-copy.ts'
import { type Run, runStep, type StepName, startsService } from './faults/steps.ts'

const root = join(import.meta.dirname, '..')

const usage = `usage: node scripts/test-faults.ts [--only NAME]... [--list] [--help]

Checks that the tests find deliberate faults. Copies the repository to a new directory beside it,
and makes one fault at a time there. Then runs the tests that have to fail. The checkout does not
change. npm run test:long runs all faults, after the tests themselves have passed.

  --only NAME   this fault alone; repeatable
  --list        prints the faults, with their files and tests, and checks that they can be made
  --help        prints this text

Examples:
  node scripts/test-faults.ts
  node scripts/test-faults.ts --only hard-link-outside --only shared-quota`

/** The lines at the end of a run's output that are printed for a fault that was missed. */
const shownLines = 40

/** Runs the program, and returns its exit status. */
async function main(args: readonly string[]): Promise<number> {
  const { only, list, help } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', multiple: true, default: [] },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  }).values
  if (help) {
    console.log(usage)
    return 0
  }
  const unknown = only.find((name) => faults.every((fault) => fault.name !== name))
  if (unknown !== undefined) throw new Error(`There is no fault ${unknown}. To list them: --list`)
  const chosen = only.length === 0 ? faults : faults.filter(({ name }) => only.includes(name))
  // A fault that cannot be made any more is found before the tests run.
  for (const fault of chosen) await changed(root, fault)
  if (!list) return testFaults(chosen)
  for (const { name, harm, file, step, tests } of chosen)
    console.log(`${name}: ${harm}\n  in ${file}, found by ${[step, ...tests].join(' ')}`)
  return 0
}

/** Makes each fault and runs its tests. Returns 1 if one was missed. */
async function testFaults(chosen: readonly Fault[]): Promise<number> {
  process.env.HOLT_TEST_SEED ??= String(randomInt(2 ** 32))
  console.log(`To repeat this run: HOLT_TEST_SEED=${process.env.HOLT_TEST_SEED}`)
  const ended = new AbortController()
  const end = () => ended.abort(new Error('ended by a signal'))
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, end)
  await using copy = await makeCopy(root, { withService: chosen.some(({ step }) => startsService(step)) })
  await requirePasses(copy.dir, chosen, ended.signal)
  const missed: Fault[] = []
  for (const fault of chosen) {
    const since = performance.now()
    const problem = await withFault(copy.dir, fault, ended.signal)
    const secs = Math.round((performance.now() - since) / 1000)
    console.log(
      `${problem === null ? 'caught' : 'missed'} ${fault.name} in ${secs} s: ${fault.step}: ${fault.caughtBy}`,
    )
    if (problem === null) continue
    console.log(problem)
    missed.push(fault)
  }
  console.log(`${chosen.length - missed.length} caught, ${missed.length} missed`)
  return missed.length === 0 ? 0 : 1
}

/** Throws if a test fails without a fault. Such a test shows nothing about a fault. */
async function requirePasses(dir: string, chosen: readonly Fault[], signal: AbortSignal): Promise<void> {
  const testsOf = new Map<StepName, Set<string>>()
  for (const { step, tests } of chosen) testsOf.set(step, new Set([...(testsOf.get(step) ?? []), ...tests]))
  for (const [step, tests] of testsOf) {
    const since = performance.now()
    const run = await runStep(dir, step, [...tests], signal)
    if (run.status !== 0) throw new Error(`The tests of ${step} fail without a fault:\n${endOf(run)}`)
    console.log(`passed without a fault in ${Math.round((performance.now() - since) / 1000)} s: ${step}`)
  }
}

/** Runs the tests of a fault with the fault. Returns null if they find it, or the problem. */
async function withFault(dir: string, fault: Fault, signal: AbortSignal): Promise<string | null> {
  const path = join(dir, fault.file)
  const [sound, faulty] = await Promise.all([readFile(path, 'utf8'), changed(dir, fault)])
  await writeFile(path, faulty)
  try {
    return problemOf(fault, await runStep(dir, fault.step, fault.tests, signal))
  } finally {
    await writeFile(path, sound)
  }
}

/** Returns null if the expected test failed for the expected reason, or the problem. */
function problemOf({ caughtBy, reason }: Fault, run: Run): string | null {
  if (run.status === 0) return 'The tests pass with the fault.'
  if (!run.failures.includes(caughtBy)) return `Another test than the expected one failed:\n${endOf(run)}`
  if (!run.output.includes(reason)) return `The test failed for another reason than "${reason}":\n${endOf(run)}`
  return null
}

function endOf({ failures, output }: Run): string {
  return `${failures}\n${output.split('\n').slice(-shownLines).join('\n')}`
}

process.exitCode = await main(process.argv.slice(2))

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testSeed } from '@holt/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeClasses } from './support/classes.ts'
import { describeTrees } from './support/describe-trees.ts'
import { askApi, type Outcome } from './support/model/ask-api.ts'
import { clear, describeHere } from './support/model/host-tree.ts'
import { type Operation, operation, seedScript } from './support/model/operations.ts'
import { type Expected, Oracle } from './support/model/oracle.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'

/** Sequences for each class; a few thousand take some minutes. */
const runs = Number(process.env.HOLT_PROPERTY_RUNS ?? 25)
const seed = Number(process.env.HOLT_PROPERTY_SEED ?? testSeed() % 2 ** 31)
/** The path at which fast-check finds a failure again at once, for example `3:0:1`. */
const path = process.env.HOLT_PROPERTY_PATH

/** A sequence is a second; what a failure takes to be made small is another twenty of them. */
const timeoutMs = 120_000 + runs * 10_000

/** Directories around the tree, so that a link which leads up finds the same on both sides. */
const around = 'p/p/p/p'

describeClasses('file operations', (isolation) => {
  let runtime: TestRuntime
  let here: string
  beforeAll(async () => {
    runtime = await createRuntime({ isolation })
    here = mkdtempSync(join(tmpdir(), 'holt-model-'))
  })
  afterAll(() => clear(here))

  it(
    'have the same effect in a runtime as in a directory',
    async () => {
      console.error(`HOLT_PROPERTY_SEED=${seed} HOLT_PROPERTY_RUNS=${runs} [${isolation}]`)
      let run = 0
      await fc.assert(
        fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 30 }), async (operations) => {
          run += 1
          await compare(operations, `/srv/model-${run % 2}`)
        }),
        { seed, numRuns: runs, ...(path === undefined ? {} : { path }), endOnFailure: false },
      )
    },
    timeoutMs,
  )

  /**
   * Does a sequence on both sides, each time in a new directory, and compares every answer and, at
   * the end, the trees.
   */
  async function compare(operations: readonly Operation[], there: string): Promise<void> {
    const [base, top] = [join(here, 'model'), join(here, 'model', around)]
    clear(base)
    mkdirSync(top, { recursive: true })
    execFileSync('sh', ['-euc', seedScript], { cwd: top })
    await runtime.sh(`rm -rf ${there}; mkdir -p ${there}/${around}; cd ${there}/${around}; ${seedScript}`)
    const oracle = new Oracle(base, top)
    for (const one of operations) {
      if (oracle.leaves(one)) continue
      const expected = oracle.apply(one)
      const outcome = await askApi(runtime, `${there}/${around}`, one)
      expect(agrees(outcome, expected), `${JSON.stringify(one)}: ${show(outcome)}, not ${show(expected)}`).toBe(true)
    }
    const [tree] = await describeTrees(runtime, there)
    const found = tree?.map(({ mtime_ns: _, xattrs: __, ...entry }) => entry)
    expect(sorted(found ?? [])).toEqual(sorted(describeHere(base)))
  }
})

function agrees(outcome: Outcome, expected: Expected): boolean {
  if (outcome.type === 'failure') return expected.type === 'failure' && expected.codes.has(outcome.code)
  return expected.type === 'success' && JSON.stringify(outcome.answer) === JSON.stringify(expected.answer)
}

function show(value: Outcome | Expected): string {
  return JSON.stringify(value, (_, inner: unknown) => (inner instanceof Set ? [...inner] : inner))
}

function sorted<Entry extends { readonly path: string }>(entries: readonly Entry[]): Entry[] {
  return entries.toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

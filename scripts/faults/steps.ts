import { spawn } from 'node:child_process'
import { mkdir, open, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'

/** The steps of `npm test` that can test a deliberate fault. */
export type StepName = keyof typeof steps

/** A step of `npm test`, as `scripts/test.sh` runs it. */
interface Step {
  /** Returns the command. `report` is the file for the runner's report. */
  readonly command: (tests: readonly string[], report: string) => readonly string[]
  /** The format of the report, for `count-tests.mjs`. A static check has no report. */
  readonly report: 'go' | 'junit' | 'vitest' | null
  readonly env?: NodeJS.ProcessEnv
  /** True if the step starts a service with real runtimes. */
  readonly startsService?: boolean
}

const vitest = (tests: readonly string[], report: string, ...options: readonly string[]) =>
  [
    'vitest',
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...options,
    ...tests,
  ] as const

/**
 * Returns the option of vitest that leaves out all end-to-end files but some. Given by its path,
 * `cli.test.ts` would bring every file whose name ends so.
 */
function onlyFiles(tests: readonly string[]): string {
  return `--exclude=!(${tests.map((file) => basename(file, '.test.ts')).join('|')}).test.ts`
}

const steps = {
  links: { command: () => ['node', 'scripts/check-links.ts'], report: null },
  layers: { command: () => ['node', 'scripts/check-layers.ts'], report: null },
  // The report of Go is its output.
  guest: { command: (tests) => ['go', '-C', 'guest', 'test', '-count=1', '-json', '-short', ...tests], report: 'go' },
  unit: { command: (tests, report) => vitest(tests, report), report: 'vitest' },
  postgres: {
    command: (tests, report) => vitest(tests, report),
    report: 'vitest',
    env: { HOLT_TEST_DATABASE: 'postgres' },
  },
  'end-to-end': {
    command: (tests, report) => vitest([], report, '--config', 'e2e/vitest.config.ts', onlyFiles(tests)),
    report: 'vitest',
    startsService: true,
  },
  python: {
    command: (tests, report) => ['bash', 'scripts/test-python.sh', `--junit-xml=${report}`, ...tests],
    report: 'junit',
    startsService: true,
  },
} as const satisfies Readonly<Record<string, Step>>

/** The time limit of one run, in seconds. The slowest takes about 2 minutes on two processors. */
const limitSecs = 900

/** The outcome of a run of some tests. */
export interface Run {
  readonly status: number
  /** The tests that failed, with the beginning of each reason. For a static check, its output. */
  readonly failures: string
  /** The whole output. */
  readonly output: string
}

/** Returns true if the step starts a service with real runtimes. */
export function startsService(name: StepName): boolean {
  const step: Step = steps[name]
  return step.startsService ?? false
}

/**
 * Runs test files of a step in a copy of the repository, in the short length. A run that takes too
 * long ends with status 124.
 */
export async function runStep(
  copy: string,
  name: StepName,
  tests: readonly string[],
  signal: AbortSignal,
): Promise<Run> {
  const step: Step = steps[name]
  const results = join(copy, '.holt/test')
  await mkdir(results, { recursive: true })
  const report = join(results, `${name}.report`)
  const log = join(results, `${name}.log`)
  const env = { ...environmentOf(copy), ...step.env }
  const command = ['timeout', '--kill-after=60', String(limitSecs), ...step.command(tests, report)]
  const status = await runTo(log, command, { cwd: copy, env, signal })
  const output = await readFile(log, 'utf8')
  if (step.report === null) return { status, output, failures: output }
  const counted = join(results, `${name}.counted`)
  const file = step.report === 'go' ? log : report
  const counting = ['node', 'scripts/lib/count-tests.mjs', step.report, file, String(status)]
  if ((await runTo(counted, counting, { cwd: copy, env, signal })) !== 0) return { status, output, failures: '' }
  const [, ...failures] = (await readFile(counted, 'utf8')).split('\n')
  return { status, output, failures: failures.join('\n') }
}

/** Returns the variables of `scripts/test.sh` for a copy of the repository. */
function environmentOf(copy: string): NodeJS.ProcessEnv {
  const { HOLT_RUNSC: _runsc, HOLT_E2E_LANES: _lanes, HOLT_TEST_DATABASE: _database, ...env } = process.env
  const own = ['node_modules/.bin', '.holt/tools/bin'].map((dir) => join(copy, dir))
  return {
    ...env,
    PATH: [...own, env.PATH, '/usr/local/go/bin', '/usr/local/sbin', '/usr/sbin', '/sbin'].join(':'),
    GOTOOLCHAIN: env.GOTOOLCHAIN ?? 'auto',
    HOLT_TEST_LENGTH: 'short',
  }
}

/**
 * Runs a command with all its output in a file. Returns its status. If the signal is aborted, ends
 * the command, waits for its end, and throws the reason.
 */
async function runTo(
  file: string,
  [program = '', ...args]: readonly string[],
  { cwd, env, signal }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv; readonly signal: AbortSignal },
): Promise<number> {
  signal.throwIfAborted()
  await using out = await open(file, 'w')
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', out.fd, out.fd] })
  const end = () => child.kill('SIGTERM')
  signal.addEventListener('abort', end, { once: true })
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject).once('close', resolve)
    })
    signal.throwIfAborted()
    return code ?? 1
  } finally {
    signal.removeEventListener('abort', end)
  }
}

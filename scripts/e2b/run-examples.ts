import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { lackFor, programFile, publishedClients } from '@holt/testkit'
import { type ExampleRun, exampleRuns, newestRuns, quickRuns } from './example-runs.ts'
import { junitOf, type Outcome } from './junit-report.ts'
import { Preparations } from './prepare-example.ts'
import { service } from './tested-service.ts'

/**
 * Runs the examples of examples/e2b with E2B's published packages against a service that runs with
 * TLS: `node scripts/e2b/run-examples.ts [--all | --newest] [--junit-xml FILE] [WORD...]`.
 * scripts/test-e2b.sh starts the service. A word selects the runs whose name contains it. With
 * `--newest`, the packages of E2B itself have their newest versions, not the pinned ones. Only
 * variables of the environment tell the examples where the service is.
 */
const { values, positionals } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    newest: { type: 'boolean', default: false },
    'junit-xml': { type: 'string' },
  },
  allowPositionals: true,
})

/** The time for one example, in milliseconds. The one of templates builds an image. */
const exampleTimeoutMs = 10 * 60_000

const keyTimeoutMs = 60_000

const root = new URL('../..', import.meta.url).pathname
const key = await makeKey()
await using prepared = new Preparations()
const possible = values.newest ? newestRuns() : exampleRuns
const chosen =
  positionals.length > 0
    ? possible.filter((run) => positionals.some((word) => nameOf(run).includes(word)))
    : values.all || values.newest
      ? possible
      : quickRuns()
if (chosen.length === 0) throw new Error('FIX: no run of an example has that name')
const outcomes: Outcome[] = []
for (const run of chosen) {
  console.log(`run  ${nameOf(run)}`)
  const lack = await lackFor(run.set)
  const outcome = lack === null ? await runExample(run) : skippedRun(run, lack)
  outcomes.push(outcome)
  console.log(`${wordOf(outcome)} ${outcome.run} (${outcome.seconds.toFixed(1)} s)`)
  const reason = outcome.failure ?? outcome.skipped
  if (reason !== null) console.log(reason.replaceAll(/^/gm, '     '))
}
if (values['junit-xml'] !== undefined) await writeFile(values['junit-xml'], junitOf(outcomes))
process.exitCode = outcomes.every(({ failure }) => failure === null) ? 0 : 1

function nameOf({ row, file, set, mode }: ExampleRun): string {
  return `${row} ${file} ${set} ${mode}`
}

function wordOf({ failure, skipped }: Outcome): string {
  return failure !== null ? 'FAIL' : skipped !== null ? 'skip' : 'ok  '
}

function skippedRun(run: ExampleRun, skipped: string): Outcome {
  return { run: nameOf(run), seconds: 0, failure: null, skipped }
}

/** Makes a key with `holt e2b env`, as users do. */
async function makeKey(): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [programFile('holt'), 'e2b', 'env', '--json'], {
    env: { ...process.env, HOLT_E2B_DOMAIN: '' },
    timeout: keyTimeoutMs,
  })
  return (JSON.parse(stdout) as { E2B_API_KEY: string }).E2B_API_KEY
}

/** Runs one example in a directory of its own. The packages are found from there. */
async function runExample(run: ExampleRun): Promise<Outcome> {
  const begun = performance.now()
  const ended = (failure: string | null) => ({
    run: nameOf(run),
    seconds: (performance.now() - begun) / 1000,
    failure,
    skipped: null,
  })
  try {
    const packages = await publishedClients(run.set, values.newest ? 'newest' : 'pinned')
    if (run.needs !== undefined) await prepared.ready(run.needs)
    const inside = run.file.endsWith('.py') ? tmpdir() : packages
    const dir = await mkdtemp(join(inside, 'run-'))
    try {
      await copyFile(join(root, 'examples/e2b', run.file), join(dir, run.file))
      const { stdout, stderr } = await start(run, { packages, dir })
      return ended(stdout.trimEnd().endsWith('ok') ? null : `it did not end with ok: ${stdout}${stderr}`)
    } finally {
      await rm(dir, { recursive: true, force: true })
    }
  } catch (error) {
    const { stdout = '', stderr = '', signal = null } = error as { stdout?: string; stderr?: string; signal?: string }
    // The HTTP library of the newest SDK for Python (pyqwest 0.12.0) sometimes aborts while the
    // interpreter exits. It does so with any server, such as http.server of Python itself.
    const aborts = ['SIGABRT', 'SIGBUS', 'SIGSEGV']
    if (run.file.endsWith('.py') && stdout.trimEnd().endsWith('ok') && aborts.includes(signal ?? '')) {
      console.log(`     ${nameOf(run)}: done, then ${signal} at the exit of the interpreter`)
      return ended(null)
    }
    return ended(`${error instanceof Error ? error.message : String(error)}\n${stdout}${stderr}`.slice(-6000))
  }
}

function start({ file, mode }: ExampleRun, { packages, dir }: { packages: string; dir: string }) {
  const [program] = file.endsWith('.py') ? [join(packages, 'bin/python')] : file.endsWith('.sh') ? ['bash'] : ['node']
  const running = promisify(execFile)(program, [file], {
    cwd: dir,
    timeout: exampleTimeoutMs,
    maxBuffer: 64 * 2 ** 20,
    env: {
      PATH: `${join(packages, 'node_modules/.bin')}:${process.env.PATH}`,
      HOME: dir,
      ...(mode === 'address'
        ? { E2B_API_URL: service.url, E2B_SANDBOX_URL: service.url }
        : { E2B_DOMAIN: service.domain, NODE_EXTRA_CA_CERTS: service.authority, SSL_CERT_FILE: service.bundle }),
      NODE_OPTIONS: `--import=${join(root, 'scripts/e2b/localhost-names.mjs')}`,
      PYTHONPATH: join(root, 'scripts/e2b/python-names'),
      PYTHONDONTWRITEBYTECODE: '1',
      E2B_API_KEY: key,
    },
  })
  // `e2b sandbox exec` sends its input to the end, and waits for it.
  running.child.stdin?.end()
  return running
}

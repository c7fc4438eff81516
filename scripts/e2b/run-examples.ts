import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs, promisify } from 'node:util'
import { publishedClients } from '@holt/testkit'
import { type ExampleRun, exampleRuns, quickRuns } from './example-runs.ts'

/**
 * Runs the examples of examples/e2b with E2B's published packages against a service that runs with
 * TLS: `node scripts/e2b/run-examples.ts [--all] [--junit-xml FILE] [WORD...]`. scripts/test-e2b.sh
 * starts the service. A word selects the runs whose name contains it. Only variables of the
 * environment tell the examples where the service is.
 */
const { values, positionals } = parseArgs({
  options: { all: { type: 'boolean', default: false }, 'junit-xml': { type: 'string' } },
  allowPositionals: true,
})

/** The time for one example, in milliseconds. The one of templates builds an image. */
const exampleTimeoutMs = 10 * 60_000

/** The time for the template of the code interpreter, in milliseconds. */
const buildTimeoutMs = 15 * 60_000

const root = new URL('../..', import.meta.url).pathname
const service = {
  url: needed('HOLT_URL'),
  apiKey: needed('HOLT_API_KEY'),
  domain: needed('HOLT_E2B_DOMAIN'),
  authority: needed('HOLT_TEST_E2B_AUTHORITY'),
  bundle: needed('HOLT_TEST_E2B_BUNDLE'),
}

interface Outcome {
  readonly run: string
  readonly seconds: number
  readonly failure: string | null
}

const key = await makeKey()
let prepared: Promise<void> | undefined
const chosen =
  positionals.length > 0
    ? exampleRuns.filter((run) => positionals.some((word) => nameOf(run).includes(word)))
    : values.all
      ? exampleRuns
      : quickRuns()
if (chosen.length === 0) throw new Error('FIX: no run of an example has that name')
const outcomes: Outcome[] = []
for (const run of chosen) {
  console.log(`run  ${nameOf(run)}`)
  const outcome = await runExample(run)
  outcomes.push(outcome)
  console.log(`${outcome.failure === null ? 'ok  ' : 'FAIL'} ${outcome.run} (${outcome.seconds.toFixed(1)} s)`)
  if (outcome.failure !== null) console.log(outcome.failure.replaceAll(/^/gm, '     '))
}
if (values['junit-xml'] !== undefined) await writeFile(values['junit-xml'], junitOf(outcomes))
process.exitCode = outcomes.every(({ failure }) => failure === null) ? 0 : 1

function nameOf({ row, file, set, mode }: ExampleRun): string {
  return `${row} ${file} ${set} ${mode}`
}

function needed(name: string): string {
  const value = process.env[name]
  if (value === undefined || value === '') throw new Error(`FIX: ${name} is not set; use scripts/test-e2b.sh`)
  return value
}

/** Makes a key as `holt e2b env` does. */
async function makeKey(): Promise<string> {
  const answer = await fetch(`${service.url}/v1/agents/key`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'examples', format: 'e2b' }),
  })
  const made = (await answer.json()) as { key?: string }
  if (made.key === undefined) throw new Error(`no key was made: ${JSON.stringify(made)}`)
  return made.key
}

/** Waits for the template of the code interpreter, which is built once: a create does not wait. */
function codeInterpreter(): Promise<void> {
  prepared ??= buildCodeInterpreter()
  return prepared
}

async function buildCodeInterpreter(): Promise<void> {
  const path = `${service.url}/v1/agents/template/code-interpreter`
  const headers = { authorization: `Bearer ${service.apiKey}`, 'content-type': 'application/json' }
  const read = async () => (await (await fetch(path, { headers })).json()) as { state: string; state_reason: unknown }
  if ((await read()).state === 'ready') return
  await fetch(`${path}/pull`, { method: 'POST', headers, body: '{}' })
  const deadline = performance.now() + buildTimeoutMs
  for (;;) {
    const { state, state_reason: reason } = await read()
    if (state === 'ready') return
    if (state !== 'building' || performance.now() > deadline)
      throw new Error(`the template code-interpreter is ${state}: ${JSON.stringify(reason)}`)
    await sleep(1_000)
  }
}

/** Runs one example in a directory of its own. The packages are found from there. */
async function runExample(run: ExampleRun): Promise<Outcome> {
  const begun = performance.now()
  const ended = (failure: string | null) => ({
    run: nameOf(run),
    seconds: (performance.now() - begun) / 1000,
    failure,
  })
  try {
    const packages = await publishedClients(run.set)
    if (/^code[-_]interpreter\./.test(run.file)) await codeInterpreter()
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
    // The newest SDK for Python sometimes aborts while the interpreter exits: once in 60 runs.
    if (stdout.trimEnd().endsWith('ok') && (signal === 'SIGSEGV' || signal === 'SIGABRT')) {
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

function junitOf(all: readonly Outcome[]): string {
  const escaped = (text: string) =>
    text
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('"', '&quot;')
      .replaceAll(/[^\t\n\u0020-\ud7ff]/g, '?')
  const cases = all.map(({ run, seconds, failure }) => {
    const inside = failure === null ? '' : `<failure message="failed">${escaped(failure)}</failure>`
    return `<testcase classname="examples/e2b" name="${escaped(run)}" time="${seconds.toFixed(3)}">${inside}</testcase>`
  })
  const failures = all.filter(({ failure }) => failure !== null).length
  return `<testsuites><testsuite name="e2b" tests="${all.length}" failures="${failures}" errors="0" skipped="0">${cases.join('')}</testsuite></testsuites>\n`
}

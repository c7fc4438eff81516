import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { publishedClients } from '@holt/testkit'
import { Holt } from '../../../packages/sdk/src/index.ts'
import { Preparations } from '../prepare-example.ts'
import { dataFile, type PackageCoverage, readCoverage } from './coverage-data.ts'
import { mergeOutcomes, type Outcome } from './merge-outcomes.ts'
import { pageFile, pageOf } from './page.ts'
import { coveredSets, publishedMethods } from './published-methods.ts'

/**
 * Runs the programs of this directory against a service with TLS, and checks that they cover each
 * public method: `run-programs.ts [--write] [WORD...]`. scripts/test-e2b-coverage.sh starts the
 * service.
 * `--write` writes the data and the page. Without it, a result that differs from the data is a
 * failure. With words it runs only the programs whose name contains one, and compares nothing.
 */
const { values, positionals } = parseArgs({
  options: { write: { type: 'boolean', default: false } },
  allowPositionals: true,
})

/** The time for one program, in milliseconds. Those of templates make 25 builds. */
const programTimeoutMs = 30 * 60_000

const here = import.meta.dirname
const root = join(here, '../../..')
const programs = ['sandbox', 'commands', 'files', 'git', 'absent', 'code', 'templates']
const chosen = programs.filter((name) => positionals.length === 0 || positionals.some((word) => name.includes(word)))

interface Report {
  readonly outcomes: readonly Outcome[]
  readonly failures: readonly { readonly name: string; readonly reason: string }[]
}

const holt = new Holt({ url: process.env.HOLT_URL ?? '', apiKey: process.env.HOLT_API_KEY ?? '' })
const scopes = ['runtime:read', 'runtime:write', 'template:read', 'template:write'] as const
const { key } = await holt.keys.create({ name: 'coverage', format: 'e2b', scopes: [...scopes] })
await using preparations = new Preparations()
if (chosen.includes('code')) await preparations.ready('code interpreter')
const packages = await publishedMethods()
const coverage: PackageCoverage[] = []
let failed = false
for (const language of ['JavaScript', 'Python'] as const) {
  const outcomes: Outcome[] = []
  for (const name of chosen) {
    const report = await runProgram(language, name)
    outcomes.push(...report.outcomes)
    console.log(`${report.failures.length === 0 ? 'ok  ' : 'FAIL'} ${language} ${name}`)
    for (const failure of report.failures) console.log(`     ${failure.name}\n${failure.reason}`)
    failed ||= report.failures.length > 0
  }
  const own = packages.filter((one) => one.language === language)
  if (!failed && chosen.length === programs.length) coverage.push(...mergeOutcomes(own, outcomes))
}
if (failed) process.exitCode = 1
else if (chosen.length === programs.length) await compareOrWrite()

async function compareOrWrite(): Promise<void> {
  const text = `${JSON.stringify(coverage, null, 2)}\n`
  if (values.write) {
    await writeFile(dataFile, text)
    await promisify(execFile)('biome', ['format', '--write', dataFile])
    await writeFile(pageFile, pageOf(coverage))
  } else if (text !== `${JSON.stringify(readCoverage(), null, 2)}\n`) {
    console.log('FIX: the run shows something else than coverage.json: bash scripts/test-e2b-coverage.sh --write')
    process.exitCode = 1
  }
}

/** Runs one program in a directory from which its packages are found. */
async function runProgram(language: keyof typeof coveredSets, name: string): Promise<Report> {
  const installed = await publishedClients(coveredSets[language])
  const isPython = language === 'Python'
  const dir = await mkdtemp(join(isPython ? tmpdir() : installed, 'run-'))
  try {
    await cp(join(here, language.toLowerCase()), dir, { recursive: true })
    const report = join(dir, 'report.json')
    const [command, file] = isPython ? [join(installed, 'bin/python'), `${name}.py`] : ['node', `${name}.mjs`]
    const options = { cwd: dir, timeout: programTimeoutMs, maxBuffer: 2 ** 26, env: environmentOf(dir) }
    const ended = promisify(execFile)(command, [file, report], options)
    const problem = await ended.then(
      () => null,
      (error: unknown) => String(error instanceof Error ? error.message : error),
    )
    const text = await readFile(report, 'utf8').catch(() => null) // The program ended before its report.
    if (text === null)
      return { outcomes: [], failures: [{ name: 'the program', reason: problem ?? 'wrote no report' }] }
    return JSON.parse(text) as Report
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/** Returns the environment of a program in domain mode. */
function environmentOf(home: string): NodeJS.ProcessEnv {
  const { PATH, HOLT_E2B_DOMAIN, HOLT_TEST_E2B_AUTHORITY, HOLT_TEST_E2B_BUNDLE } = process.env
  const { COVERAGE_PRIVATE_IMAGE, COVERAGE_LOGIN, COVERAGE_GOOGLE_KEY } = process.env
  return {
    PATH,
    HOME: home,
    E2B_API_KEY: key,
    E2B_DOMAIN: HOLT_E2B_DOMAIN,
    NODE_EXTRA_CA_CERTS: HOLT_TEST_E2B_AUTHORITY,
    SSL_CERT_FILE: HOLT_TEST_E2B_BUNDLE,
    NODE_OPTIONS: `--import=${join(root, 'scripts/e2b/localhost-names.mjs')}`,
    PYTHONPATH: join(root, 'scripts/e2b/python-names'),
    PYTHONDONTWRITEBYTECODE: '1',
    COVERAGE_PRIVATE_IMAGE,
    COVERAGE_LOGIN,
    COVERAGE_GOOGLE_KEY,
  }
}

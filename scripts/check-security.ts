import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Checks SECURITY.md against the repository. Every file that it names must exist. Every rule must
 * have a row that names files with tests, and titles that are in them. Its claims about programs of
 * the host, and about the project in each query, must match the sources.
 */

/** The number of rules in SECURITY.md's first table. */
const ruleCount = 22

/**
 * The modules that may start programs. Each passes a list of arguments, and makes the environment
 * itself.
 */
const starters: readonly string[] = [
  'packages/builder/src/process/run-program.ts',
  'packages/builder/src/base/bootstrap.ts',
  'packages/cli/src/terminal/local-terminal.ts',
  'packages/cli/src/daemon/start-daemon.ts',
  'packages/cli/src/daemon/run-daemon-verb.ts',
  'packages/cli/src/ports/open-in-browser.ts',
  // With the variables of its user, to test the packages that the user has.
  'packages/cli/src/e2b/check-packages.ts',
  'packages/engine-host/src/egress/offer-tun.ts',
  'packages/engine-host/src/memory/memory-watcher.ts',
  'packages/engine-host/src/tools/launcher.ts',
  'packages/engine-host/src/tools/run-tool.ts',
  'packages/server/src/daemon/tell-manager.ts',
  'packages/server/src/daemon/certificate/trust-authority.ts',
  'packages/server/src/daemon/doctor/time-source.ts',
  // Builds and finds programs for tests; the service does not use them.
  'packages/testkit/src/build-once.ts',
  'packages/testkit/src/find-python.ts',
  'packages/testkit/src/install-pinned.ts',
  'packages/testkit/src/list-with-python.ts',
  'packages/testkit/src/mcp-conformance.ts',
  'packages/testkit/src/program-file.ts',
  'packages/testkit/src/pinned-uv.ts',
  'packages/testkit/src/published-clients.ts',
  'packages/testkit/src/requires.ts',
]

/**
 * The files of `packages/server/src` with queries of all projects: their number, and the reason. A
 * query for a client must contain the client's project.
 */
const serviceWide: Readonly<Record<string, readonly [count: number, why: string]>> = {
  'api/handlers/host-handlers.ts': [1, 'counts for operators'],
  'api/handlers/readiness.ts': [1, 'the templates that Holt provides'],
  'api/metrics/row-gauges.ts': [3, 'counts for operators'],
  'builds/build-log.ts': [2, 'the service writes the log of a build that it runs'],
  'builds/collect.ts': [5, 'images and checkpoints belong to nobody'],
  'builds/drop-checkpoints.ts': [1, 'checkpoints of every project, which a start removes'],
  'builds/evict-cache.ts': [3, 'the cache has one limit for all'],
  'builds/recover-builds.ts': [3, 'a start ends and clears what any project left'],
  'builds/remove-contexts.ts': [1, 'age, in every project'],
  'builds/remove-old-builds.ts': [1, 'age, in every project'],
  'builds/retake-checkpoints.ts': [1, 'checkpoints of every project, which a start takes again'],
  'daemon/open-foundation.ts': [1, 'whether anything is sealed at all'],
  'daemon/open-own-store.ts': [2, 'whether the store knows the state directory'],
  'daemon/purge.ts': [2, 'the end of everything'],
  'daemon/sweep.ts': [3, 'age, in every project'],
  'e2b/envd/find-signed.ts': [2, 'a signature names no project'],
  'e2b/sandbox/find-sandbox.ts': [1, 'an address names no project; its token is for one runtime'],
  'inside/ports/admit-to-port.ts': [1, 'an address names no project; its token is for one runtime'],
  'resources/network/address-book.ts': [1, 'by a runtime that the service has found'],
  'resources/network/decision-log.ts': [1, 'decisions of the gateway, of many runtimes at once'],
  'resources/secrets/rotate-master-key.ts': [1, 'one key seals for all'],
  'resources/templates/fallbacks.ts': [1, 'the engine knows no projects; the log is for operators'],
  'runtimes/admission/promised.ts': [1, 'what the host has promised to all'],
  'runtimes/lifecycle/clock-watch.ts': [2, 'a jump of the clock moves every deadline'],
  'runtimes/lifecycle/forget-ended.ts': [1, 'what has ended, of every project'],
  'runtimes/lifecycle/lifetimes.ts': [1, 'deadlines of every project'],
  'runtimes/lifecycle/wake.ts': [1, 'finds the project of a runtime whose link is asked for'],
  'runtimes/pools/current-shapes.ts': [1, 'what pools are made for'],
  'runtimes/pools/pool-member.ts': [1, 'a pool serves every project of its template'],
  'runtimes/reconcile/find-missing.ts': [3, 'files of every project'],
  'runtimes/reconcile/follow-engine.ts': [3, 'the engine knows no projects'],
  'runtimes/reconcile/mark-missing.ts': [2, 'files of every project'],
  'runtimes/reconcile/memory-kills.ts': [1, 'the engine knows no projects'],
  'runtimes/snapshots/recover-snapshots.ts': [1, 'a start ends what any project left'],
  'runtimes/state/collect-after.ts': [1, 'images belong to nobody'],
  'runtimes/usage/usage-watch.ts': [1, 'what all runtimes take'],
  'tenancy/audit/old-audit.ts': [4, 'the service bounds the whole log'],
  'tenancy/auth/authenticate.ts': [1, 'a key tells the project'],
  'tenancy/auth/valid-credentials.ts': [2, 'keys of open streams and of a browser, of all projects'],
  'tenancy/console/console-sessions.ts': [3, 'a token names no project; and age, in every project'],
  'tenancy/events/remove-old-events.ts': [1, 'the logs of all projects'],
  'tenancy/idempotency/kept-records.ts': [1, 'age, in every project'],
  'tenancy/keys/bootstrap.ts': [1, 'the default project by its name'],
  'tenancy/keys/end-tokens.ts': [1, 'keys of which a secret has ended, of all projects'],
  'tenancy/projects/create-project.ts': [1, 'how many projects there are'],
  'tenancy/projects/find-project.ts': [1, 'for operators, who may know of all'],
  'tenancy/webhooks/remove-old-deliveries.ts': [4, 'age, in every project'],
  'tenancy/webhooks/webhook-secrets.ts': [3, 'overlaps that are over, of every project'],
  'tenancy/webhooks/webhook-sender.ts': [1, 'by a webhook that the service has found'],
  'tenancy/webhooks/webhooks.ts': [1, 'a start begins what is active, of every project'],
}

const root = new URL('..', import.meta.url).pathname
const text = readFileSync(join(root, 'SECURITY.md'), 'utf8')
const problems = [...missingFiles(), ...rulesWithoutTest(), ...programs(), ...tenancy()]
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1

/**
 * Returns the repository paths in a text: words in backquotes that begin with one of its folders.
 */
function pathsIn(part: string): readonly string[] {
  return [...part.matchAll(/`((?:packages|e2e|chaos|guest|docs|scripts|deploy|bench|templates)\/[^`\s]*)`/g)].map(
    ([, path = '']) => path,
  )
}

function missingFiles(): readonly string[] {
  return [...new Set(pathsIn(text))]
    .filter((path) => !existsSync(join(root, path)))
    .map((path) => `SECURITY.md: there is no ${path}`)
}

function rulesWithoutTest(): readonly string[] {
  const rows = text.split('\n').flatMap((line) => {
    const cells = line.split('|').map((cell) => cell.trim())
    return /^\d+$/.test(cells[1] ?? '') ? [{ rule: Number(cells[1]), cells: cells.slice(2, -1) }] : []
  })
  const numbers = rows.map(({ rule }) => rule)
  const missing = Array.from({ length: ruleCount }, (_, index) => index + 1).filter((rule) => !numbers.includes(rule))
  return [
    ...missing.map((rule) => `SECURITY.md: rule ${rule} has no row`),
    ...rows.flatMap(({ rule, cells }) => {
      const empty = cells.some((cell) => cell === '') ? [`SECURITY.md: rule ${rule} has an empty cell`] : []
      const proofs = proofsIn(cells.at(-1) ?? '')
      const none = proofs.length === 0 ? [`SECURITY.md: rule ${rule} names no test`] : []
      return [...empty, ...none, ...proofs.flatMap(lackOf).map((lack) => `SECURITY.md: rule ${rule}: ${lack}`)]
    }),
  ]
}

/** A proof: a file, and titles of tests in it if they follow in brackets and quotes. */
interface Proof {
  readonly path: string
  readonly titles: readonly string[]
}

function proofsIn(cell: string): readonly Proof[] {
  const [before = '', ...parts] = cell.split(/(?=`(?:packages|e2e|chaos|guest)\/)/)
  return [before, ...parts].flatMap((part) => {
    const [path] = pathsIn(part)
    const [, titles = ''] = /^`[^`]+` \(((?:"[^"]+"(?:, )?)+)\)/.exec(part) ?? []
    return path === undefined
      ? []
      : [{ path, titles: [...titles.matchAll(/"([^"]+)"/g)].map(([, title = '']) => title) }]
  })
}

/**
 * Returns the reasons why a proof is invalid: it is not a test file, or lacks a test with a title.
 */
function lackOf({ path, titles }: Proof): readonly string[] {
  const file = join(root, path)
  // A missing file is reported by `missingFiles`.
  if (!existsSync(file)) return []
  if (!statSync(file).isFile() || !/(?:\.test\.ts|_test\.go)$/.test(path)) return [`${path} is no file of tests`]
  const source = readFileSync(file, 'utf8')
  if (!/^\s*(?:test|it)(?:\s*\.\w+)*\s*[(<]|^func (?:Test|Fuzz)\w+\(/m.test(source)) return [`${path} has no test`]
  return titles.filter((title) => !source.includes(title)).map((title) => `${path} has no test "${title}"`)
}

/** Returns a problem for each module that starts programs by a shell, or without being listed. */
function programs(): readonly string[] {
  return globSync('packages/*/src/**/*.ts', { cwd: root }).flatMap((file) => {
    const source = readFileSync(join(root, file), 'utf8')
    const starts = /from 'node:child_process'/.test(source)
    const shell = starts && /\bshell: (?!false)|\b(?:exec|execSync)\b[^'\n]*from 'node:child_process'/.test(source)
    return [
      ...(starts && !starters.includes(file)
        ? [`${file}: starts programs, and has no place in scripts/check-security.ts`]
        : []),
      ...(shell ? [`${file}: starts programs by a shell`] : []),
    ]
  })
}

/**
 * Returns a problem for each file with queries that lack the project, although their table has one.
 * The listed queries of the whole service are exempt.
 */
function tenancy(): readonly string[] {
  const base = join(root, 'packages/server/src')
  const columns = globSync('foundation/store/*tables.ts', { cwd: base }).map((file) =>
    readFileSync(join(base, file), 'utf8'),
  )
  const interfaces = new Map(
    columns
      .join('\n')
      .matchAll(/interface (\w+)[^{]*\{(.*?)\n\}/gs)
      .map(([, name, body]) => [name, body]),
  )
  const tables = [...(interfaces.get('Tables') ?? '').matchAll(/readonly (\w+): (\w+)/g)].flatMap(([, table, name]) =>
    interfaces.get(name)?.includes(' project_id') === true ? [table] : [],
  )
  if (!tables.includes('runtimes')) return ['scripts/check-security.ts: cannot tell which tables have a project']
  // A query ends where it is executed, or with the statement or function that makes it.
  const query = new RegExp(
    `\\.(?:selectFrom|updateTable|deleteFrom)\\('(?:${tables.join('|')})'\\).*?(?:\\.execute|\\n\\n|\\n\\})`,
    'gs',
  )
  return globSync('**/*.ts', { cwd: base }).flatMap((file) => {
    const asked = readFileSync(join(base, file), 'utf8').match(query) ?? []
    const count = asked.filter((text) => !/'(?:\w+\.)?project_id',\s*(?:'=|'in'|projectId ===)/.test(text)).length
    const [allowed] = serviceWide[file] ?? [0]
    return count === allowed
      ? []
      : [`packages/server/src/${file}: ${count} queries name no project_id; scripts/check-security.ts has ${allowed}`]
  })
}

import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Holds SECURITY.md against the repository: every file that it names is there, every rule has a row with a test of its own, and what it says about programs of the
 * host is so in the sources.
 */

/** The rules of SECURITY.md's first table. */
const ruleCount = 22

/** The modules that may start programs. Each runs them by a list of arguments, in an environment that it makes. */
const starters: readonly string[] = [
  'packages/builder/src/process/run-command.ts',
  'packages/builder/src/base/bootstrap.ts',
  'packages/cli/src/terminal/local-terminal.ts',
  'packages/cli/src/daemon/start-daemon.ts',
  'packages/cli/src/daemon/run-daemon-verb.ts',
  'packages/cli/src/open-in-browser.ts',
  'packages/engine-host/src/egress/offer-tun.ts',
  'packages/engine-host/src/tools/launcher.ts',
  'packages/engine-host/src/tools/run-tool.ts',
  'packages/server/src/daemon/tell-manager.ts',
  'packages/server/src/doctor/time-source.ts',
]

const root = new URL('..', import.meta.url).pathname
const text = readFileSync(join(root, 'SECURITY.md'), 'utf8')
const problems = [...missingFiles(), ...rulesWithoutTest(), ...programs()]
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1

/** The paths of the repository in a text: what stands in backquotes and begins with one of its folders. */
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
      const proof = pathsIn(cells.at(-1) ?? '')
      return proof.length > 0 && proof.every(hasTests) ? empty : [...empty, `SECURITY.md: rule ${rule} names no test`]
    }),
  ]
}

/** Whether a file is a test, or a folder has some. */
function hasTests(path: string): boolean {
  const isTest = (name: string) => /(?:\.test\.ts|_test\.go)$/.test(name)
  if (!existsSync(join(root, path))) return false
  if (!statSync(join(root, path)).isDirectory()) return isTest(path)
  return globSync('**/*', { cwd: join(root, path) }).some(isTest)
}

/** Programs of the host are started by a list of arguments, in few places. */
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

import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import promises from './promises.json' with { type: 'json' }

/** A file with tests, or a directory of such files, and titles of tests in the file. */
interface Proof {
  readonly path: string
  readonly tests?: readonly string[]
}

/** A rule that holds in both classes: its promise in each of them, its mechanism and its proofs. */
interface Rule {
  readonly number: number
  readonly rule: string
  readonly gvisor: string
  readonly container: string
  readonly how: string
  readonly proofs: readonly Proof[]
}

/** A promise of one part of Holt: its mechanism and its proofs. */
interface PartPromise {
  readonly area: string
  readonly promise: string
  readonly how: string
  readonly proofs: readonly Proof[]
}

const { rules, promises: ofParts }: { readonly rules: readonly Rule[]; readonly promises: readonly PartPromise[] } =
  promises

/** The number of rules. It keeps one from being lost. */
const ruleCount = 22

/** Returns a problem for each promise that lacks a text or a test, and for each missing test. */
export function promiseProblems(root: string): readonly string[] {
  const misplaced = rules.filter(({ number }, index) => number !== index + 1)
  return [
    ...(rules.length === ruleCount ? [] : [`scripts/security/promises.json: there are not ${ruleCount} rules`]),
    ...misplaced.map(({ rule }) => `scripts/security/promises.json: "${rule}" has the wrong number`),
    ...rules.flatMap((rule) => problemsOf(root, rule.rule, [rule.gvisor, rule.container, rule.how], rule.proofs)),
    ...ofParts.flatMap(({ promise, area, how, proofs }) => problemsOf(root, promise, [area, how], proofs)),
  ]
}

function problemsOf(root: string, name: string, texts: readonly string[], proofs: readonly Proof[]): readonly string[] {
  const lacks = [
    ...(texts.some((text) => text === '') ? ['a text is empty'] : []),
    ...(proofs.length === 0 ? ['no test is named'] : []),
    ...proofs.flatMap((proof) => lackOf(root, proof)),
  ]
  return lacks.map((lack) => `scripts/security/promises.json: "${name}": ${lack}`)
}

const isTestFile = /(?:\.test\.tsx?|_test\.go|test_\w+\.py)$/

/** Returns the reasons why a proof is invalid: it has no tests, or lacks a test with a title. */
function lackOf(root: string, { path, tests = [] }: Proof): readonly string[] {
  const file = join(root, path)
  if (!existsSync(file)) return [`there is no ${path}`]
  if (statSync(file).isDirectory()) return lackOfFolder(file, path, tests)
  if (!isTestFile.test(path)) return [`${path} is no file of tests`]
  const source = readFileSync(file, 'utf8')
  if (!/^\s*(?:test|it)(?:\s*\.\w+)*\s*[(<]|^func (?:Test|Fuzz)\w+\(|^\s*(?:async )?def test_/m.test(source))
    return [`${path} has no test`]
  return tests.filter((title) => !source.includes(title)).map((title) => `${path} has no test "${title}"`)
}

function lackOfFolder(folder: string, path: string, tests: readonly string[]): readonly string[] {
  if (tests.length > 0) return [`${path} is a directory, and titles need a file`]
  const hasTests = globSync('**/*.{ts,go,py}', { cwd: folder }).some((file) => isTestFile.test(file))
  // The conformance suite of engines is a source, which test files call.
  return hasTests || path.endsWith('/src/conformance') ? [] : [`${path} has no file of tests`]
}

/** Returns the tables of all promises as Markdown, between the lines of `begin` and `end`. */
export function promiseTables(): string {
  const areas = [...new Set(ofParts.map(({ area }) => area))]
  return [
    ...table('Rules, class by class', ['', 'rule', '`gvisor`', '`container`'], rules, (rule) => [
      `${rule.number}`,
      rule.rule,
      rule.gvisor,
      rule.container,
    ]),
    ...table('How the rules hold', ['', 'how', 'tests'], rules, (rule) => [
      `${rule.number}`,
      rule.how,
      cellOf(rule.proofs),
    ]),
    ...areas.flatMap((area) =>
      table(
        area,
        ['promise', 'how', 'tests'],
        ofParts.filter((each) => each.area === area),
        (each) => [each.promise, each.how, cellOf(each.proofs)],
      ),
    ),
  ].join('\n')
}

function table<Row>(
  title: string,
  head: readonly string[],
  rows: readonly Row[],
  cells: (row: Row) => readonly string[],
): readonly string[] {
  const line = (texts: readonly string[]) => `| ${texts.join(' | ')} |`
  return [`## ${title}`, '', line(head), line(head.map(() => '---')), ...rows.map((row) => line(cells(row))), '']
}

function cellOf(proofs: readonly Proof[]): string {
  return proofs
    .map(
      ({ path, tests = [] }) =>
        `\`${path}\`${tests.length === 0 ? '' : ` (${tests.map((title) => `"${title}"`).join(', ')})`}`,
    )
    .join(', ')
}

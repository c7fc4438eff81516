import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { programProblems } from './security/programs.ts'
import { promiseProblems, promiseTables } from './security/promises.ts'
import { queryProblems } from './security/queries.ts'

/**
 * Checks the promises of SECURITY.md against the repository. Every promise names tests that exist,
 * and docs/internals/security.md lists all of them; `--write` writes that list. The claims about
 * programs of the host, and about the project in each query, must match the sources.
 */
const root = new URL('..', import.meta.url).pathname
const page = 'docs/internals/security.md'
const problems = [
  ...promiseProblems(root),
  ...pageProblems(),
  ...missingFiles('SECURITY.md'),
  ...missingFiles(page),
  ...programProblems(root),
  ...queryProblems(root),
]
for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1

/** Returns a problem for each path of the repository in a page that does not exist. */
function missingFiles(file: string): readonly string[] {
  const paths = readFileSync(join(root, file), 'utf8').matchAll(
    /`((?:packages|e2e|chaos|guest|docs|scripts|deploy|bench|templates)\/[^`\s]*)`/g,
  )
  return [...new Set([...paths].map(([, path = '']) => path))]
    .filter((path) => !existsSync(join(root, path)))
    .map((path) => `${file}: there is no ${path}`)
}

/** Writes the tables of the page with `--write`. Returns a problem if they are stale. */
function pageProblems(): readonly string[] {
  const text = readFileSync(join(root, page), 'utf8')
  const [begin, end] = ['<!-- promises:begin -->\n', '<!-- promises:end -->']
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from === -1 || to === -1) return [`${page}: the marks of the tables are missing`]
  const current = `${text.slice(0, from)}${begin}${promiseTables()}${text.slice(to)}`
  if (current === text) return []
  if (!process.argv.includes('--write')) return [`${page}: is stale; run node scripts/check-security.ts --write`]
  writeFileSync(join(root, page), current)
  return []
}

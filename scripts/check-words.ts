import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { brokenRules } from './words/broken-rules.ts'

/**
 * Checks the words of pages, comments, descriptions of fields and names of tests: line length,
 * sentence length and banned openings (see CONTRIBUTING.md). A file that is older than the check
 * has a bound in `scripts/words/bounds.json`, which may only fall. Run `node scripts/check-words.ts
 * --lower` to write the present counts.
 */
const root = new URL('..', import.meta.url).pathname
const boundsFile = `${root}scripts/words/bounds.json`
const sources = [
  'packages/*/src/**/*.{ts,tsx}',
  'bench/**/*.ts',
  'chaos/**/*.ts',
  'scripts/**/*.ts',
  'site/**/*.ts',
  'packages/*/test/**/*.ts',
  'e2e/**/*.ts',
  'guest/**/*.go',
  'python/**/*.py',
  'examples/**/*.py',
  'bench/**/*.py',
]
const pages = [
  '*.md',
  'docs/**/*.md',
  'packages/*/README.md',
  'python/*.md',
  'guest/*.md',
  'bench/*.md',
  'chaos/*.md',
  'e2e/*.md',
  'site/*.md',
]
const exclude = (path: string) => path.includes('node_modules') || path.includes('/dist/') || path.includes('/_sync')

const bounds = JSON.parse(readFileSync(boundsFile, 'utf8')) as Record<string, number>
const counts: Record<string, number> = {}
const isLowering = process.argv.includes('--lower')
const shown = process.argv.filter((arg) => arg !== '--lower').slice(2)

for (const file of globSync([...pages, ...sources], { cwd: root, exclude }).toSorted()) {
  const broken = brokenRules(file, readFileSync(root + file, 'utf8'))
  const bound = bounds[file] ?? 0
  if (broken.length > 0) counts[file] = broken.length
  const isOver = broken.length > bound
  if (shown.includes(file) || (isOver && !isLowering))
    for (const { line, rule } of broken) console.error(`${file}:${line}: ${rule}`)
  if (!isOver || isLowering) continue
  if (bound > 0) console.error(`${file}: ${broken.length} places, and at most ${bound} are left from before the check`)
  process.exitCode = 1
}

if (isLowering) {
  const lowered = Object.entries(counts).filter(([file]) => file in bounds)
  const entries = lowered.map(([file, count]) => [file, Math.min(count, bounds[file] ?? count)])
  writeFileSync(boundsFile, `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`)
}

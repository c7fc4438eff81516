import { globSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { frontPage, type Section, sections } from './sections.ts'

/** A page: its source in the repository, and its place in the site. */
export interface Page {
  /** The path in the repository, or `reference/NAME` for a page that is generated. */
  readonly source: string
  /** The path in the site, with `.md`. */
  readonly place: string
}

/** A section with its pages. */
export interface PlacedSection {
  readonly title: string
  readonly pages: readonly Page[]
}

/**
 * Returns the sections with their pages in order. Throws if a page below `docs/` is in no section,
 * or if a section names a page that does not exist.
 */
export function placePages(
  root: string,
  generated: readonly string[],
  wanted: readonly Section[] = sections,
): readonly PlacedSection[] {
  const placed = wanted.map(({ title, pages }) => ({
    title,
    pages: [...new Set(pages.flatMap((pattern) => matching(root, generated, pattern)))].map(placeOf),
  }))
  const known = new Set(placed.flatMap(({ pages }) => pages.map(({ source }) => source)))
  const lost = [...globSync('docs/**/*.md', { cwd: root }), ...generated].filter((source) => !known.has(source))
  if (lost.length > 0) throw new Error(`site/sections.ts names no section for ${lost.join(', ')}`)
  return placed
}

/** Returns the pages of a pattern, sorted. */
function matching(root: string, generated: readonly string[], pattern: string): readonly string[] {
  const [before = '', after = ''] = pattern.split('*')
  const found = pattern.startsWith('reference/')
    ? generated.filter((name) => (pattern.includes('*') ? isBetween(name, before, after) : name === pattern))
    : globSync(pattern, { cwd: root }).toSorted()
  if (found.length === 0) throw new Error(`site/sections.ts names ${pattern}, and there is no such page`)
  return found
}

function isBetween(name: string, before: string, after: string): boolean {
  return name.startsWith(before) && name.endsWith(after)
}

/** Returns the place of a page. A package's README has the name of its directory. */
export function placeOf(source: string): Page {
  if (source === frontPage) return { source, place: 'index.md' }
  if (source.startsWith('docs/')) return { source, place: source.slice('docs/'.length) }
  if (source.startsWith('reference/')) return { source, place: source }
  // The guide is at /python.
  if (source === 'python/README.md') return { source, place: 'python-package.md' }
  if (source === 'guest/PROTOCOL.md') return { source, place: 'internals/guest-protocol.md' }
  const name = basename(source) === 'README.md' ? basename(dirname(source)) : basename(source, '.md')
  return { source, place: `${name.toLowerCase()}.md` }
}

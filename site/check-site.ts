import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { base } from './base.ts'

/** Any origin for links without one. A link to another origin is not followed. */
const here = 'http://site.invalid'

/** Paths of the service outside the site that pages may link to. */
const ofService = ['/openapi.json']

/**
 * Checks a built site. Every link and every file that a page names must be in the site, and every
 * anchor in its page. Nothing may be loaded from elsewhere, and no element may have a style or a
 * handler of its own, because the policy refuses them. Throws with everything that is wrong.
 */
export async function checkSite(dir: string): Promise<void> {
  const files = new Set(globSync('**/*', { cwd: dir }))
  const pages = new Map<string, string>()
  for (const file of files) if (file.endsWith('.html')) pages.set(file, await readFile(join(dir, file), 'utf8'))
  const ids = new Map([...pages].map(([file, html]) => [file, new Set(matches(html, / id="([^"]*)"/g))]))
  const problems: string[] = []
  for (const [page, html] of pages) {
    for (const url of matches(html, / src="([^"]*)"/g))
      if (!url.startsWith(base)) problems.push(`${page}: ${url} is loaded from elsewhere`)
    for (const url of matches(html, / (?:href|src)="([^"]*)"/g)) {
      const problem = problemOf(url.replaceAll('&amp;', '&'), page)
      if (problem !== null) problems.push(`${page}: ${url} ${problem}`)
    }
    for (const found of matches(html, / (style|on[a-z]+)="/g)) problems.push(`${page}: an element has ${found}="..."`)
  }
  if (problems.length > 0) throw new Error(problems.join('\n'))

  function problemOf(url: string, page: string): string | null {
    const { origin, pathname, hash } = new URL(url, `${here}${base}${page}`)
    if (origin !== here || ofService.includes(pathname)) return null
    if (!pathname.startsWith(base)) return 'leaves the site'
    const file = fileOf(decodeURI(pathname.slice(base.length)))
    if (file === null) return 'leads to no page'
    return hash === '' || ids.get(file)?.has(decodeURI(hash.slice(1))) !== false ? null : 'leads to no heading'
  }

  function fileOf(path: string): string | null {
    const names = path === '' || path.endsWith('/') ? [`${path}index.html`] : [path, `${path}.html`]
    return names.find((name) => files.has(name)) ?? null
  }
}

function matches(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(([, found = '']) => found)
}

import { existsSync, statSync } from 'node:fs'
import { dirname, join, posix, relative } from 'node:path'
import { outsideCode } from './markdown.ts'
import type { Page } from './pages.ts'

/** The pages and pictures that links may lead to. */
export interface Targets {
  readonly root: string
  /** The pages by their sources. A directory leads to its first page. */
  readonly pages: ReadonlyMap<string, Page>
  /** Notes that a page shows a picture, and returns the picture's place in the site. */
  readonly addPicture: (source: string) => string
}

/**
 * Rewrites the relative links of a page for the site. A link to another page leads to its place. A
 * link to any other file of the repository becomes the file's path, because the site is read
 * without the repository. Throws if a link leads to no file.
 */
export function rewriteLinks(text: string, page: Page, targets: Targets): string {
  return outsideCode(text, (prose) =>
    prose.replaceAll(/(!?)\[([^\]]*)\]\(([^)\s]+)\)/g, (link, isPicture: string, words: string, target: string) => {
      if (/^([a-z]+:|#)/.test(target)) return link
      const [path = '', anchor] = target.split('#')
      const source = posix.normalize(join(dirname(page.source), path)).replace(/\/$/, '')
      if (page.source.startsWith('reference/')) return link
      if (!existsSync(join(targets.root, source))) throw new Error(`${page.source}: ${target} leads to no file`)
      if (isPicture === '!') return `![${words}](${fromPage(page, targets.addPicture(source))})`
      const place = targets.pages.get(source)?.place ?? null
      if (place !== null) return `[${words}](${fromPage(page, place)}${anchor === undefined ? '' : `#${anchor}`})`
      const shown = `\`${source}${statSync(join(targets.root, source)).isDirectory() ? '/' : ''}\``
      return saysPath(words, source) ? shown : `${words} (${shown})`
    }),
  )
}

/** Returns true if the words of a link are already the path of the file. */
function saysPath(words: string, source: string): boolean {
  return words.replace(/\/$/, '') === source
}

function fromPage(page: Page, place: string): string {
  const path = relative(dirname(page.place), place)
  return path.startsWith('.') ? path : `./${path}`
}

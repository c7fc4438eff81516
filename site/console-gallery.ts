import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The directory of the pictures of the console, below the root. Git ignores it. */
const picturesDir = '.holt/console-pictures'

/** The place in `docs/console.md` where the site shows the pictures. */
const mark = '<!-- the pictures of the console -->'

/** A page of the console whose pictures were taken: `NAME-light.png` and `NAME-dark.png`. */
interface Pictured {
  readonly name: string
  readonly title: string
}

/**
 * Returns a page with the pictures of the console in place of the mark, and adds their files.
 * Without pictures (`npm run console:pictures` takes them) the mark is removed.
 */
export async function withGallery(text: string, root: string, files: Map<string, string | Buffer>): Promise<string> {
  if (!text.includes(mark)) return text
  const dir = join(root, picturesDir)
  const list = join(dir, 'pictures.json')
  const pictured = existsSync(list) ? (JSON.parse(await readFile(list, 'utf8')) as readonly Pictured[]) : []
  const shown: string[] = []
  for (const { name, title } of pictured) {
    shown.push(`### ${title}`)
    for (const theme of ['light', 'dark']) {
      const place = `pictures/console-${name}-${theme}.png`
      files.set(place, await readFile(join(dir, `${name}-${theme}.png`)))
      shown.push(`![${title} in the ${theme} theme](./${place})`)
    }
  }
  return text.replace(mark, shown.join('\n\n'))
}

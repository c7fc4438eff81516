import { execFile } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { withGallery } from './console-gallery.ts'
import { drawDiagrams } from './draw-diagrams.ts'
import { titleOf } from './markdown.ts'
import { type Page, type PlacedSection, placeOf, placePages } from './pages.ts'
import { apiDocument, apiPages } from './reference/api-pages.ts'
import { cliPage } from './reference/cli-page.ts'
import { errorsPage } from './reference/errors-page.ts'
import { rewriteLinks } from './rewrite-links.ts'
import { frontPage } from './sections.ts'

/** The repository's directory. */
export const root = join(import.meta.dirname, '..')

/** The directory of the pages that VitePress reads. They are generated, and not in git. */
const stageDir = join(import.meta.dirname, '.pages')

/**
 * Writes the pages of the site: those of the repository with links for the site, and the generated
 * reference. Files that stay the same are not written, so that a preview reloads only what changed.
 */
export async function stage(): Promise<void> {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
  const document = apiDocument(version)
  const generated: Readonly<Record<string, string>> = {
    ...apiPages(document),
    'reference/cli.md': cliPage(await helpOfHoltd()),
    'reference/errors.md': errorsPage(document),
    'reference/python.md': await pythonReference(),
  }
  const sections = placePages(root, Object.keys(generated))
  const pages = [placeOf(frontPage), ...sections.flatMap((section) => section.pages)]
  const targets = linkTargets(pages)
  const files = new Map<string, string | Buffer>()
  const titles = new Map<string, string>()
  for (const page of pages) {
    const text = generated[page.source] ?? (await readFile(join(root, page.source), 'utf8'))
    titles.set(page.place, titleOf(text, page.source))
    const pictures: string[] = []
    const linked = rewriteLinks(text, page, {
      root,
      pages: targets,
      addPicture: (source) => pictureOf(source, pictures),
    })
    for (const source of pictures) files.set(pictureOf(source), await readFile(join(root, source), 'utf8'))
    files.set(page.place, await withDiagrams(await withGallery(linked, root, files), page, files))
  }
  files.set('sidebar.json', JSON.stringify(sidebarOf(sections, titles)))
  await writeFiles(files)
}

/** Returns the help that `holtd` prints. */
async function helpOfHoltd(): Promise<string> {
  const program = join(root, 'packages/server/src/main.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [program, '--help'], { timeout: helpMs })
  return stdout
}

/** Returns the reference of the Python client, from its signatures and docstrings. */
async function pythonReference(): Promise<string> {
  const program = join(root, 'python/reference.py')
  const { stdout } = await promisify(execFile)('python3', ['-B', program], { timeout: helpMs, maxBuffer: 2 ** 24 })
  return stdout
}

/** The time for the help of `holtd`, in milliseconds. It takes less than a second. */
const helpMs = 60_000

/** Returns the pages by source. A link to a directory leads to its README, or to its first page. */
function linkTargets(pages: readonly Page[]): ReadonlyMap<string, Page> {
  const targets = new Map(pages.map((page) => [page.source, page]))
  for (const page of pages) {
    const dir = dirname(page.source)
    const isEntry = dir !== '.' && (basename(page.source) === 'README.md' || dir.startsWith('docs/'))
    if (isEntry && !targets.has(dir)) targets.set(dir, page)
  }
  return targets
}

/** Returns the place of a picture in the site, and notes its source. */
function pictureOf(source: string, noted: string[] = []): string {
  noted.push(source)
  return `pictures/${basename(source)}`
}

async function withDiagrams(text: string, { place }: Page, files: Map<string, string | Buffer>): Promise<string> {
  let count = 0
  return drawDiagrams(text, (svg) => {
    count += 1
    const name = `pictures/${place.replaceAll('/', '-').replace(/\.md$/, '')}-${count}.svg`
    files.set(name, svg)
    const path = relative(dirname(place), name)
    return path.startsWith('.') ? path : `./${path}`
  })
}

/** Returns the sidebar in the form of VitePress. The titles of pages come from their headings. */
function sidebarOf(sections: readonly PlacedSection[], titles: ReadonlyMap<string, string>) {
  return sections.map(({ title, pages }) => ({
    text: title,
    collapsed: false,
    items: pages.map(({ place }) => ({ text: titles.get(place), link: `/${place.replace(/\.md$/, '')}` })),
  }))
}

/** Writes the changed files, and removes those of earlier builds. */
async function writeFiles(files: ReadonlyMap<string, string | Buffer>): Promise<void> {
  for (const name of globSync('**/*.*', { cwd: stageDir })) if (!files.has(name)) await rm(join(stageDir, name))
  for (const [name, content] of files) {
    const path = join(stageDir, name)
    const bytes = typeof content === 'string' ? Buffer.from(content) : content
    if (existsSync(path) && (await readFile(path)).equals(bytes)) continue
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, bytes)
  }
}

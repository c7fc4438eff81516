import { existsSync, statSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { documents, linkedDocuments } from '../../../scripts/release/documents.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const all = [...documents, ...linkedDocuments]
const isIn = (path: string) => all.some((one) => path === one || path.startsWith(`${one}/`))

/** Returns the pages of a path in the repository. */
async function pagesOf(path: string): Promise<readonly string[]> {
  if (!statSync(join(root, path)).isDirectory()) return [path]
  const files = await readdir(join(root, path), { recursive: true })
  return files.filter((file) => file.endsWith('.md') && !file.includes('node_modules')).map((file) => join(path, file))
}

test('the targets of relative links in the pages of a release are in it', async () => {
  const missing: string[] = []
  const pages = (await Promise.all(documents.map(pagesOf))).flat()
  for (const page of pages) {
    const text = (await readFile(join(root, page), 'utf8')).replace(/^ *```[\s\S]*?^ *```$/gm, '')
    for (const [, link = ''] of text.matchAll(/\]\(([^)\s#]+)/g)) {
      if (/^[a-z]+:/.test(link)) continue
      const target = relative(root, resolve(root, dirname(page), link))
      if (!isIn(target) || !existsSync(join(root, target))) missing.push(`${page}: ${link}`)
    }
  }
  expect(pages.length).toBeGreaterThan(20)
  expect(missing).toEqual([])
})

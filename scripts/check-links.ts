import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** Checks that relative links of the pages lead to a file, and their anchors to a heading. */
const root = new URL('..', import.meta.url).pathname
const exclude = (path: string) => path.includes('node_modules') || path.includes('/dist/') || path.includes('/.pages/')
const patterns = ['*.md', '{docs,examples,guest,bench,chaos,e2e,templates,site}/**/*.md', 'packages/*/README.md']
const pages = new Map(
  globSync(patterns, { cwd: root, exclude }).map((file) => [file, withoutCode(readFileSync(root + file, 'utf8'))]),
)

for (const [file, text] of pages)
  for (const [, link = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(link)) continue
    const [path = '', anchor] = link.split('#')
    const target = path === '' ? file : normalize(join(dirname(file), path))
    if (!existsSync(root + target)) report(file, link, 'leads to no file')
    else if (anchor !== undefined && pages.get(target) !== undefined && !anchorsOf(target).has(anchor))
      report(file, link, 'leads to no heading')
  }

function report(file: string, link: string, problem: string): void {
  console.error(`${file}: ${link} ${problem}`)
  process.exitCode = 1
}

/** Returns the anchors of the headings of a page, as GitHub names them. */
function anchorsOf(file: string): ReadonlySet<string> {
  const headings = [...(pages.get(file) ?? '').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading)
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}_\- ]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

function withoutCode(text: string): string {
  return text.replace(/^ *```[\s\S]*?^ *```$/gm, '')
}

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { drawDiagrams } from '../draw-diagrams.ts'
import { anchorOf, outsideCode, titleOf } from '../markdown.ts'
import { placeOf, placePages } from '../pages.ts'
import { rewriteLinks } from '../rewrite-links.ts'

/** Makes a repository with files. */
function repository(...files: readonly string[]): string {
  const root = mkdtempSync(join(tmpdir(), 'holt-site-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), '# A page\n')
  }
  return root
}

test('a glob matches the pages that are not named before, sorted', () => {
  const root = repository('docs/b.md', 'docs/a.md', 'docs/z.md', 'packages/sdk/README.md')
  const [section] = placePages(
    root,
    [],
    [{ title: 'All', pages: ['docs/z.md', 'docs/*.md', 'packages/sdk/README.md'] }],
  )
  expect(section?.pages.map(({ place }) => place)).toEqual(['z.md', 'a.md', 'b.md', 'sdk.md'])
})

test('a page without a section, and a section without its page, fail the build', () => {
  const root = repository('docs/a.md', 'docs/internals/b.md')
  expect(() => placePages(root, [], [{ title: 'A', pages: ['docs/a.md'] }])).toThrow('docs/internals/b.md')
  expect(() => placePages(root, ['reference/x.md'], [{ title: 'A', pages: ['docs/**/*.md'] }])).toThrow(
    'reference/x.md',
  )
  expect(() => placePages(root, [], [{ title: 'A', pages: ['docs/c.md'] }])).toThrow('docs/c.md')
})

test('links become those of the site, and files of the repository keep their paths', () => {
  const root = repository('docs/a.md', 'docs/internals/b.md', 'LICENSE', 'docs/images/x.svg', 'examples/run.ts')
  const pages = new Map(['docs/a.md', 'docs/internals/b.md'].map((source) => [source, placeOf(source)]))
  const pictures: string[] = []
  const addPicture = (source: string) => `pictures/${pictures.push(source)}.svg`
  const linked = (text: string) => rewriteLinks(text, placeOf('docs/internals/b.md'), { root, pages, addPicture })
  expect(linked('[the a\npage](../a.md#one-two)')).toBe('[the a\npage](../a.md#one-two)')
  expect(linked('[`code`](../a.md)')).toBe('[`code`](../a.md)')
  expect(linked('[here](#there) [web](https://example.org/a)')).toBe('[here](#there) [web](https://example.org/a)')
  expect(linked('the [licence](../../LICENSE)')).toBe('the licence (`LICENSE`)')
  expect(linked('[examples](../../examples), [run](../../examples/run.ts)')).toBe(
    '`examples/`, run (`examples/run.ts`)',
  )
  expect(linked('![a picture](../images/x.svg)')).toBe('![a picture](../pictures/1.svg)')
  expect(pictures).toEqual(['docs/images/x.svg'])
  expect(linked('`[no](link.md)`')).toBe('`[no](link.md)`')
  expect(() => linked('[gone](gone.md)')).toThrow('docs/internals/b.md: gone.md leads to no file')
})

test('code is unchanged', () => {
  const text = 'a `a` a\n```sh\na\n```\na'
  expect(outsideCode(text, (prose) => prose.replaceAll('a', 'b'))).toBe('b `a` b\n```sh\na\n```\nb')
})

test('anchors match those of Git hosts, and titles the first headings', () => {
  expect(anchorOf('A class, when it has `booted`: 2 steps')).toBe('a-class-when-it-has-booted-2-steps')
  expect(titleOf('<!-- x -->\n# `holt` and more\n\n## Not this', 'x.md')).toBe('holt and more')
  expect(() => titleOf('## Not this', 'x.md')).toThrow('x.md has no title')
})

test('a diagram becomes a picture that loads no other file', async () => {
  const drawn: string[] = []
  const text = '# A page\n\n## The way\n\n```mermaid\nflowchart LR\n  a["one<br>two"] -->|go| b\n```\n\nAfter.\n'
  const changed = await drawDiagrams(text, (svg) => `./${drawn.push(svg)}.svg`)
  expect(changed).toBe('# A page\n\n## The way\n\n![Diagram: The way](./1.svg)\n\nAfter.\n')
  expect(drawn[0]).toMatch(/^<svg .*<\/svg>\s*$/s)
  expect(drawn[0]).not.toMatch(/@import|url\(['"]?https?:|<script/)
})

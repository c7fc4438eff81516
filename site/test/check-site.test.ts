import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { checkSite } from '../check-site.ts'
import { writeManifest } from '../write-manifest.ts'

/** Makes a built site with files. */
function builtSite(files: Readonly<Record<string, string>>): string {
  const dir = mkdtempSync(join(tmpdir(), 'holt-site-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true })
    writeFileSync(join(dir, name), text)
  }
  return dir
}

const sound = {
  'index.html': '<a href="/docs/a/b#x">b</a><a href="https://example.org">out</a><script src="/docs/s.js"></script>',
  'a/b.html': '<h2 id="x">x</h2><a href="../#">up</a><a href="#x">here</a><a href="/openapi.json">api</a>',
  's.js': '',
}

test('a valid site has no errors', async () => {
  await expect(checkSite(builtSite(sound))).resolves.toBeUndefined()
})

test.each([
  ['<a href="/docs/gone">', 'leads to no page'],
  ['<a href="./gone#x">', 'leads to no page'],
  ['<a href="/docs/a/b#gone">', 'leads to no heading'],
  ['<a href="#gone">', 'leads to no heading'],
  ['<a href="/v1/agents/runtime">', 'leaves the site'],
  ['<img src="/docs/gone.svg">', 'leads to no page'],
  ['<img src="https://example.org/x.png">', 'is loaded from elsewhere'],
  ['<td style="text-align:right">', 'an element has style="..."'],
  ['<a onclick="x()">', 'an element has onclick="..."'],
])('%s fails the build: %s', async (html, problem) => {
  await expect(checkSite(builtSite({ ...sound, 'bad.html': html }))).rejects.toThrow(`bad.html: `)
  await expect(checkSite(builtSite({ ...sound, 'bad.html': html }))).rejects.toThrow(problem)
})

test('the manifest has every file, and its policy the scripts inside pages', async () => {
  const script = 'document.title = "x"'
  const dir = builtSite({
    ...sound,
    'a.html': `<script id="x">${script}</script><script type="module" src="/docs/s.js"></script>`,
  })
  await writeManifest(dir)
  const { files, policy } = JSON.parse(readFileSync(join(dir, 'manifest.json'), 'utf8'))
  expect(Object.keys(files)).toEqual(['a.html', 'a/b.html', 'index.html', 's.js'])
  const digest = createHash('sha256').update(sound['index.html']).digest('base64url')
  expect(files['index.html']).toEqual({ type: 'text/html; charset=utf-8', digest })
  expect(gunzipSync(readFileSync(join(dir, 'index.html.gz'))).toString()).toBe(sound['index.html'])
  const hash = createHash('sha256').update(script).digest('base64')
  expect(policy).toContain(`script-src 'self' 'sha256-${hash}';`)
  expect(policy).not.toMatch(/unsafe|https?:|\*/)
})

test('a file without a known type, or with too many bytes, fails the build', async () => {
  await expect(writeManifest(builtSite({ 'x.wasm': '' }))).rejects.toThrow('x.wasm')
  await expect(writeManifest(builtSite({ 'x.js': 'x'.repeat(8 * 2 ** 20 + 1) }))).rejects.toThrow('x.js has more than')
})

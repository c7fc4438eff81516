import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { openApi } from '@holt/protocol'
import fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { acceptsCoding } from '../../../src/api/docs/request-headers.ts'
import { serveSite } from '../../../src/api/docs/serve-site.ts'
import { startTestServer } from '../../support/start-test-server.ts'

const policy = "default-src 'none'; script-src 'self' 'sha256-x'"
const html = 'text/html; charset=utf-8'
const pages: Readonly<Record<string, string>> = {
  'index.html': '<h1>Front</h1>',
  'reference/errors.html': '<h1>Errors</h1>',
  '404.html': '<h1>No such page</h1>',
  'assets/app.1234.js': 'console.log(1)',
  'assets/picture.5678.svg': '<svg/>',
}
const types: Readonly<Record<string, string>> = { html, js: 'text/javascript; charset=utf-8', svg: 'image/svg+xml' }

/** Writes a site with a manifest, and a file beside it that is in no manifest. */
function writeSite(dir: string, files = pages): void {
  const entries = Object.entries(files).map(([name, content]) => {
    mkdirSync(dirname(join(dir, name)), { recursive: true })
    writeFileSync(join(dir, name), content)
    writeFileSync(join(dir, `${name}.gz`), gzipSync(content))
    return [name, { type: types[name.split('.').at(-1) ?? ''], digest: `digest-of-${name.length}-${content.length}` }]
  })
  writeFileSync(join(dir, 'secret.txt'), 'a secret')
  writeFileSync(join(dir, 'manifest.json'), JSON.stringify({ policy, files: Object.fromEntries(entries) }))
}

/** Starts a server of a site in a new directory. */
async function startSite() {
  const dir = mkdtempSync(join(tmpdir(), 'holt-docs-'))
  const app = fastify({ forceCloseConnections: true })
  serveSite(app, dir)
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(async () => {
    await app.close()
    rmSync(dir, { recursive: true })
  })
  return { dir, url }
}

/** Asks for a path as it is written: `fetch` would resolve its dots. */
async function askRaw(url: string, path: string, method = 'GET', headers: Readonly<Record<string, string>> = {}) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  request(url, { path, method, headers, agent: false }, resolve).on('error', reject).end()
  const answer = await promise
  return { status: answer.statusCode, headers: answer.headers, body: await text(answer) }
}

test.each([
  ['/docs/', 200, '<h1>Front</h1>', html],
  ['/docs/index.html', 200, '<h1>Front</h1>', html],
  ['/docs/reference/errors', 200, '<h1>Errors</h1>', html],
  ['/docs/reference/errors?x=1', 200, '<h1>Errors</h1>', html],
  ['/docs/assets/app.1234.js', 200, 'console.log(1)', 'text/javascript; charset=utf-8'],
  ['/docs/reference', 404, '<h1>No such page</h1>', html],
  ['/docs/reference/', 404, '<h1>No such page</h1>', html],
  ['/docs/secret.txt', 404, '<h1>No such page</h1>', html],
  ['/docs/manifest.json', 404, '<h1>No such page</h1>', html],
  ['/docs/index.html.gz', 404, '<h1>No such page</h1>', html],
  ['/docs/../../etc/passwd', 404, '<h1>No such page</h1>', html],
  ['/docs/%2e%2e/%2e%2e/etc/passwd', 404, '<h1>No such page</h1>', html],
  ['/docs/..%2fsecret.txt', 404, '<h1>No such page</h1>', html],
  ['/docs/assets/..%2findex.html', 404, '<h1>No such page</h1>', html],
  ['/docs//etc/passwd', 404, '<h1>No such page</h1>', html],
  ['/docs/index.html%00.js', 404, '<h1>No such page</h1>', html],
  ['/docs/__proto__', 404, '<h1>No such page</h1>', html],
])('%s is answered with %i: %s', async (path, status, body, type) => {
  const { dir, url } = await startSite()
  writeSite(dir)
  const answer = await askRaw(url, path)
  expect([answer.status, answer.body, answer.headers['content-type']]).toEqual([status, body, type])
  expect(answer.headers['content-length']).toBe(String(Buffer.byteLength(body)))
})

test('pages have the policy of the manifest, and the policy of pictures allows no scripts', async () => {
  const { dir, url } = await startSite()
  writeSite(dir)
  const page = await fetch(`${url}/docs/`)
  expect([page.headers.get('content-security-policy'), page.headers.get('referrer-policy')]).toEqual([
    policy,
    'no-referrer',
  ])
  const picture = await fetch(`${url}/docs/assets/picture.5678.svg`)
  expect(picture.headers.get('content-security-policy')).toMatch(/^default-src 'none'; .*sandbox$/)
})

test('assets are cached for good, and pages are revalidated', async () => {
  const { dir, url } = await startSite()
  writeSite(dir)
  const asset = await fetch(`${url}/docs/assets/app.1234.js`)
  expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
  const page = await fetch(`${url}/docs/`)
  expect(page.headers.get('cache-control')).toBe('no-cache')
  const etag = page.headers.get('etag') ?? ''
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const again = await fetch(`${url}/docs/`, { headers: { 'if-none-match': known } })
    expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag])
  }
  expect((await fetch(`${url}/docs/`, { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
  expect((await fetch(`${url}/docs/gone`, { headers: { 'if-none-match': '*' } })).status).toBe(404)
})

test('a file is compressed for clients that accept gzip, under its own ETag', async () => {
  const { dir, url } = await startSite()
  writeSite(dir)
  const plain = await askRaw(url, '/docs/')
  const packed = await fetch(`${url}/docs/`, { headers: { 'accept-encoding': 'gzip' } })
  expect([packed.headers.get('content-encoding'), packed.headers.get('vary')]).toEqual(['gzip', 'accept-encoding'])
  expect(await packed.text()).toBe(plain.body)
  expect(packed.headers.get('etag')).not.toBe(plain.headers.etag)
  expect(plain.headers['content-encoding']).toBeUndefined()
})

test.each([
  [undefined, false],
  ['', false],
  ['gzip', true],
  ['br, GZIP;q=0.5', true],
  ['gzip;q=0', false],
  ['gzip; q=0.000, *', false],
  ['*', true],
  ['br;q=1, *;q=0', false],
  ['gzip;q=x', false],
])('Accept-Encoding %j accepts gzip: %j', (header, takes) => {
  expect(acceptsCoding('gzip', header)).toBe(takes)
})

test('HEAD has the headers of GET and no body', async () => {
  const { dir, url } = await startSite()
  writeSite(dir)
  const get = await askRaw(url, '/docs/reference/errors')
  const head = await askRaw(url, '/docs/reference/errors', 'HEAD')
  expect([head.status, head.body]).toEqual([200, ''])
  const same = ['content-length', 'content-type', 'etag', 'cache-control', 'content-security-policy']
  for (const name of same) expect(head.headers[name]).toBe(get.headers[name])
  expect((await askRaw(url, '/docs/gone', 'HEAD')).status).toBe(404)
})

test('without a built site, the answer says how to build it; a later build is served at once', async () => {
  const { dir, url } = await startSite()
  const before = await fetch(`${url}/docs/`)
  expect([before.status, before.headers.get('cache-control')]).toEqual([404, 'no-store'])
  expect(await before.text()).toContain('<code>npm run docs</code>')
  expect((await askRaw(url, '/docs/tour', 'HEAD')).status).toBe(404)
  writeSite(dir)
  expect(await (await fetch(`${url}/docs/`)).text()).toBe('<h1>Front</h1>')
  writeSite(dir, { ...pages, 'index.html': '<h1>Another</h1>' })
  expect(await (await fetch(`${url}/docs/`)).text()).toBe('<h1>Another</h1>')
  // A build replaces the files before the manifest is read again.
  rmSync(join(dir, 'index.html'))
  rmSync(join(dir, 'index.html.gz'))
  expect((await fetch(`${url}/docs/`)).status).toBe(404)
})

test('a client that disconnects early leaves no open file', async () => {
  const { dir, url } = await startSite()
  writeSite(dir, { ...pages, 'assets/large.js': 'x'.repeat(8 * 2 ** 20) })
  const openFiles = () =>
    readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith(dir)
      } catch {
        return false
      }
    })
  for (let round = 0; round < 10; round += 1) {
    const gone = new AbortController()
    const { body } = await fetch(`${url}/docs/assets/large.js`, {
      signal: gone.signal,
      headers: { 'accept-encoding': 'identity' },
    })
    await body?.getReader().read()
    gone.abort()
  }
  await expect.poll(openFiles).toEqual([])
})

test('the service redirects /docs to the site and serves it without a key', async () => {
  const { server, ask } = await startTestServer()
  const { status, headers } = await askRaw(server.url, '/docs')
  expect([status, headers.location]).toEqual([308, '/docs/'])
  // The site may be built here or not.
  const page = await askRaw(server.url, '/docs/')
  expect(page.headers).toMatchObject({ 'content-type': html, 'x-content-type-options': 'nosniff' })
  expect(page.headers['content-security-policy']).toMatch(/^default-src 'none';/)
  for (const path of ['/docs', '/docs/', '/docs/a/b']) {
    const refused = await ask('PUT', path)
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  }
})

test('open routes answer HEAD as described, and routes with a key do not', async () => {
  expect(openApi('1.2.3')).toHaveProperty('info.description', expect.stringContaining('HEAD'))
  const { server } = await startTestServer()
  for (const path of ['/healthz', '/openapi.json'])
    expect((await fetch(`${server.url}${path}`, { method: 'HEAD' })).status).toBe(200)
  expect((await fetch(`${server.url}/v1/agents/runtime`, { method: 'HEAD' })).status).toBe(405)
})

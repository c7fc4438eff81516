import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { consoleHeaders } from '../../../src/api/console/console-headers.ts'
import { serveFiles } from '../../../src/api/console/serve-console.ts'

const page = '<!doctype html><script type="module" src="/console/assets/app.1234.js"></script>'
const files = {
  'index.html': { type: 'text/html; charset=utf-8', content: page },
  'assets/app.1234.js': { type: 'text/javascript; charset=utf-8', content: 'console.log(1)' },
}

/** Starts a server of a console in a new directory. */
async function start({ built = true } = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'holt-console-'))
  mkdirSync(join(dir, 'assets'))
  for (const [name, { content }] of Object.entries(files)) {
    writeFileSync(join(dir, name), content)
    writeFileSync(join(dir, `${name}.br`), brotliCompressSync(content))
    writeFileSync(join(dir, `${name}.gz`), gzipSync(content))
  }
  writeFileSync(join(dir, 'secret.js'), 'in no manifest')
  const listed = Object.fromEntries(
    Object.entries(files).map(([name, { type }]) => [name, { type, digest: `digest-of-${name}`, compressed: true }]),
  )
  if (built) writeFileSync(join(dir, 'manifest.json'), JSON.stringify({ files: listed }))
  const app = fastify({ forceCloseConnections: true })
  const said: string[] = []
  const info = (_: object, message: string) => void said.push(message)
  serveFiles(app, { log: { debug() {}, info, warn() {}, error() {} } }, dir)
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(async () => {
    await app.close()
    rmSync(dir, { recursive: true })
  })
  return { url, said, ask: (path: string, headers = {}) => fetch(url + path, { redirect: 'manual', headers }) }
}

test('every path is the page, which is asked for each time', async () => {
  const { ask } = await start()
  for (const path of ['/console/', '/console/runtimes/rt1', '/console/secret.js', '/console/manifest.json']) {
    const answer = await ask(path)
    expect([answer.status, await answer.text()]).toEqual([200, page])
    expect(answer.headers.get('cache-control')).toBe('no-cache')
    const again = await ask(path, { 'if-none-match': answer.headers.get('etag') ?? '' })
    expect(again.status).toBe(304)
  }
  const answer = await ask('/console')
  expect([answer.status, answer.headers.get('location')]).toEqual([308, '/console/'])
})

test.each([
  ['br, gzip', 'br'],
  ['gzip', 'gzip'],
  ['identity', null],
])('an asset is kept for ever, and compressed if %s is accepted', async (accepted, coding) => {
  const { ask } = await start()
  const answer = await ask('/console/assets/app.1234.js', { 'accept-encoding': accepted })
  expect([answer.headers.get('content-encoding'), await answer.text()]).toEqual([coding, 'console.log(1)'])
  expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
})

test('a missing asset is no page', async () => {
  const { ask } = await start()
  const answer = await ask('/console/assets/old.js')
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([404, 'no-store'])
})

test('without a build, the page and the log say how to make one', async () => {
  const { ask, said } = await start({ built: false })
  expect(said).toEqual(['the console is not built: run npm run console'])
  expect((await start()).said).toEqual([])
  const answer = await ask('/console/')
  expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining('npm run console')])
})

test.each([
  ['none', 'by-person'],
  ['same-origin', 'unknown'],
  ['same-site', 'unknown'],
  ['cross-site', 'unknown'],
  [null, 'unknown'],
])('the page knows who has opened it, also if the browser has kept it: %s', async (site, opened) => {
  const { ask } = await start()
  const headers = site === null ? {} : { 'sec-fetch-site': site }
  const answer = await ask('/console/', headers)
  const again = await ask('/console/', { ...headers, 'if-none-match': answer.headers.get('etag') ?? '' })
  for (const each of [answer, again]) expect(each.headers.get('server-timing')).toBe(`opened;desc="${opened}"`)
  expect(again.status).toBe(304)
})

test('the policy allows the files of the console and nothing inline', async () => {
  const { url, ask } = await start()
  const { headers } = await ask('/console/')
  const { host } = new URL(url)
  const policy = headers.get('content-security-policy') ?? ''
  expect(policy).toContain(`script-src ${host}/console/assets/;`)
  for (const part of ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"])
    expect(policy).toContain(part)
  expect(policy).toContain("require-trusted-types-for 'script'")
  expect(policy).toContain('; frame-src blob:;')
  expect(policy).not.toMatch(/unsafe|\*|https?:/)
  expect(Object.fromEntries(headers)).toMatchObject({
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
  })
})

test.each(['a; script-src *', "x' 'unsafe-inline'", '[::1]:4658', ''])(
  'the host %s adds nothing to the policy',
  (host) => {
    expect(consoleHeaders(host)['content-security-policy']).toContain("script-src 'self';")
  },
)

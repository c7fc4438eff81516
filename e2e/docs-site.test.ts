import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { errorCatalogue, routes } from '@holt/protocol'
import { beforeAll, describe, expect, it } from 'vitest'
import { call } from './support/api.ts'
import { repository } from './support/service-process.ts'

const ask = (path: string, method = 'GET', headers = {}) => call(method, path, { key: null, headers })

describe('the documentation of the service', () => {
  beforeAll(async () => {
    // `npm test` builds it before. A service notices a new build by itself.
    if (existsSync(join(repository, 'dist/docs/manifest.json'))) return
    await promisify(execFile)('bash', [join(repository, 'scripts/docs.sh')], { maxBuffer: 16 * 2 ** 20 })
  })

  it('opens with the front page, and its policy forbids scripts of others', async () => {
    const sent = await ask('/docs')
    expect([sent.status, sent.headers.location]).toEqual([308, '/docs/'])
    const front = await ask('/docs/')
    expect(front.status).toBe(200)
    expect(front.text).toContain('Your first runtime')
    expect(front.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    })
    const policy = String(front.headers['content-security-policy'])
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'( 'sha256-[A-Za-z0-9+/=]+')+; style-src 'self';/)
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
  })

  it('has every route, every error and every setting', async () => {
    const overview = await ask('/docs/reference/api')
    for (const name of Object.keys(routes)) expect(overview.text).toContain(`#${name}"`)
    const errors = await ask('/docs/reference/errors')
    for (const code of Object.keys(errorCatalogue)) expect(errors.text).toContain(`id="${code}"`)
    expect((await ask('/docs/settings')).text).toContain('HOLT_STATE_DIR')
    expect((await ask('/docs/reference/cli')).text).toContain('id="holt-key-rotate"')
  })

  it('sends every file that a page names, and no page needs another server', async () => {
    const { text } = await ask('/docs/architecture')
    const named = [...text.matchAll(/ (?:src|href)="(\/docs\/[^"#]*)/g)].map(([, path = '']) => path)
    const assets = [...new Set(named)].filter((path) => path.startsWith('/docs/assets/'))
    expect(assets.some((path) => path.endsWith('.js'))).toBe(true)
    expect(assets.some((path) => path.endsWith('.css'))).toBe(true)
    expect(assets.filter((path) => path.endsWith('.svg')).length).toBeGreaterThan(1)
    for (const path of new Set(named)) expect((await ask(path)).status, path).toBe(200)
    for (const path of assets) expect((await ask(path)).headers['cache-control'], path).toContain('immutable')
    expect(text).not.toMatch(/ src="(?!\/docs\/)/)
  })

  it('has a page for unknown paths, and no link leaves the site', async () => {
    for (const path of ['/docs/gone', '/docs/manifest.json', '/docs/%2e%2e%2fpackage.json', '/docs/../package.json'])
      expect([(await ask(path)).status, (await ask(path)).text.includes('There is no such page')]).toEqual([404, true])
    expect((await ask('/docs/', 'POST')).status).toBe(405)
  })

  it('answers HEAD and conditional requests', async () => {
    const page = await ask('/docs/tour')
    const head = await ask('/docs/tour', 'HEAD')
    expect([head.status, head.text, head.headers.etag]).toEqual([200, '', page.headers.etag])
    expect(head.headers['content-length']).toBe(String(page.bytes.length))
    expect((await ask('/docs/tour', 'GET', { 'if-none-match': page.headers.etag })).status).toBe(304)
  })
})

import { createHash } from 'node:crypto'
import { openApi, type Route, routes } from '@holt/protocol'
import { expect, test } from 'vitest'
import { curlExample } from '../../../src/api/docs/curl-example.ts'
import { type ApiDocument, operationsOf } from '../../../src/api/docs/document.ts'
import { exampleValue } from '../../../src/api/docs/example-value.ts'
import { renderPage } from '../../../src/api/docs/render-page.ts'
import { startTestServer } from '../../support/start-test-server.ts'

const document = openApi('1.2.3') as unknown as ApiDocument
const page = renderPage(document)
const all = (pattern: RegExp, text = page) => [...text.matchAll(pattern)].map(([, found = '']) => found)

/** The part of the page about a route. */
const articleOf = (name: string) => new RegExp(`<article id="${name}">.*?</article>`, 's').exec(page)?.[0] ?? ''

test.each(Object.entries<Route>(routes))('%s has an anchor, and says where it is and what it needs', (name, route) => {
  const article = articleOf(name)
  expect(article).toContain(`<b class="method">${route.method}</b> <code>${route.path}</code>`)
  expect(article).toContain(
    route.scope === null ? 'no key' : route.scope === 'any' ? 'Any key' : `<code>${route.scope}</code>`,
  )
  for (const code of route.errors) expect(article).toContain(`href="#error-${code}"`)
  for (const status of Object.keys(route.answers)) expect(article).toContain(`<b class="status">${status}</b>`)
  expect(/<nav.*<\/nav>/s.exec(page)?.[0]).toContain(`<li><a href="#${name}" title="${route.method} ${route.path}">`)
})

test('a field has its type, whether it is required, its default, its bounds and its description', () => {
  const text = articleOf('startCommand').replaceAll(/<[^>]*>/g, '')
  expect(text).toContain(
    'argv list of string (1 to 1024 items)\nRun as it is, looked up in PATH. Each argument has at most 131,071 bytes.',
  )
  expect(text).toContain(
    'timeout_secs number (0 to 604800)\n0: none. At the end every process of the command is killed.Default 60',
  )
  expect(articleOf('copyFile').replaceAll(/<[^>]*>/g, '')).toContain(
    'source string required\nAn existing absolute path.',
  )
  expect(articleOf('listRuntimes').replaceAll(/<[^>]*>/g, '')).toContain(
    'limit integer (1 to 100)\nHow many items at the most.Default 50',
  )
})

test('an answer with 503 that is no error is told as the answer that it is', () => {
  expect(articleOf('readiness')).toMatch(/<b class="status">503<\/b> .*<a href="#schema-Readiness">/)
  expect(page).toContain('<dt id="error-name_taken"><code>name_taken</code> <span class="type">409</span></dt>')
})

test('every link leads to one place of the page, and every tag that is opened is closed', () => {
  const ids = all(/ id="([^"]*)"/g)
  expect(new Set(ids).size).toBe(ids.length)
  expect(all(/ href="#([^"]*)"/g).filter((id) => !ids.includes(id))).toEqual([])
  const open: string[] = []
  for (const [, end, tag = ''] of page.matchAll(/<(\/?)([a-z]\w*)/g)) {
    if (end === '') open.push(...(tag === 'meta' ? [] : [tag]))
    else expect(open.pop()).toBe(tag)
  }
  expect(open).toEqual([])
})

test('nothing of the page runs or comes from elsewhere', () => {
  expect(page).not.toMatch(/<script|<link|<img|<iframe|<base|\ssrc=|\son\w+=|\sstyle=|@import|url\(/i)
  expect(all(/ href="([^#][^"]*)"/g)).toEqual(['/openapi.json'])
})

test('whatever the document says is text', () => {
  const hostile = '<b a="x\'y"&'
  const infect = (value: unknown, key: string): unknown => {
    // What decides how something is shown is left as it is, and so are the names of fields of the document itself.
    if (typeof value === 'string') return ['type', 'in'].includes(key) ? value : value + hostile
    if (Array.isArray(value)) return value.map((inner) => infect(inner, key))
    if (typeof value !== 'object' || value === null) return value
    const named = ['properties', 'paths', 'schemas', 'content'].includes(key)
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [named ? name + hostile : name, infect(inner, named ? '' : name)]),
    )
  }
  const infected = renderPage(infect(document, '') as ApiDocument)
  expect(infected.split('&lt;b a=&quot;x&#39;y&quot;&amp;').length).toBeGreaterThan(5000)
  expect(infected).not.toContain('<b a')
  expect(infected).not.toContain('"x')
})

test('the examples are requests that the routes take', () => {
  const { schemas } = document.components
  const bodies = Object.values<Route>(routes).filter(({ body }) => body.type === 'json')
  expect(bodies.length).toBeGreaterThan(30)
  for (const operation of operationsOf(document)) {
    const { body, query } = routes[operation.operationId as keyof typeof routes] as Route
    const schema = operation.requestBody?.content['application/json']?.schema
    if (body.type === 'json') {
      const result = body.schema.safeParse(exampleValue(schema ?? {}, schemas))
      expect(result.error?.issues, operation.operationId).toBeUndefined()
    }
    const needed = operation.parameters.filter((parameter) => parameter.in === 'query' && parameter.required)
    const asked = needed.map((parameter) => [parameter.name, exampleValue(parameter.schema, schemas)])
    expect(query?.safeParse(Object.fromEntries(asked)).error?.issues, operation.operationId).toBeUndefined()
  }
})

test('an example is a line for a shell', () => {
  const curl = (name: string) => {
    const operation = operationsOf(document).find(({ operationId }) => operationId === name)
    return operation === undefined ? undefined : curlExample(operation, document.components.schemas)
  }
  expect(curl('startCommand')).toBe(`curl -X POST "$HOLT_URL/v1/agents/runtime/$runtime_id/commands" \\
  -H "Authorization: Bearer $HOLT_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"command":"id"}'`)
  expect(curl('writeFile')).toContain('/files/content?path=%2Fworkspace%2Fexample" \\\n')
  expect(curl('writeFile')).toContain('--data-binary @FILE')
  expect(curl('health')).toBe('curl "$HOLT_URL/healthz"')
  expect(curl('attachCommand')).toBeNull()
})

test('the service answers with the page, to whoever asks, and a reader that has it is told so', async () => {
  const { server, ask } = await startTestServer()
  const { status, headers, text } = await ask('GET', '/docs', { key: null })
  expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  expect(all(/ id="([^"]*)"/g, text)).toEqual(all(/ id="([^"]*)"/g))
  expect(Object.fromEntries(headers)).toMatchObject({
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
  })
  const styles = all(/<style>(.*?)<\/style>/gs, text)
  expect(styles).toHaveLength(1)
  const hash = createHash('sha256').update(styles.join()).digest('base64')
  expect(headers.get('content-security-policy')).toBe(
    `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  )
  const etag = headers.get('etag') ?? ''
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const again = await ask('GET', '/docs', { key: null, headers: { 'if-none-match': known } })
    expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', etag])
  }
  expect((await ask('GET', '/docs', { key: null, headers: { 'if-none-match': '"other"' } })).status).toBe(200)
  const head = await fetch(`${server.url}/docs`, { method: 'HEAD' })
  expect([head.status, await head.text(), head.headers.get('content-length')]).toEqual([
    200,
    '',
    String(Buffer.byteLength(text)),
  ])
})

test('what is open answers HEAD, as the description and the conventions say, and what needs a key does not', async () => {
  expect(document.info.description).toContain('HEAD')
  expect(/<section id="conventions">.*?<\/section>/s.exec(page)?.[0]).toContain('HEAD')
  const { server, ask } = await startTestServer()
  for (const path of ['/healthz', '/openapi.json'])
    expect((await fetch(`${server.url}${path}`, { method: 'HEAD' })).status).toBe(200)
  expect((await fetch(`${server.url}/v1/agents/runtime`, { method: 'HEAD' })).status).toBe(405)
  expect((await ask('PUT', '/docs')).headers.get('allow')).toBe('GET, HEAD')
})

import { errorCatalogue, type Route, routes } from '@holt/protocol'
import { expect, test } from 'vitest'
import { verbOutlines } from '../../packages/cli/src/verb-outlines.ts'
import { curlExample } from '../api/curl-example.ts'
import { type ApiDocument, operationsOf } from '../api/document.ts'
import { exampleValue } from '../api/example-value.ts'
import { apiDocument, apiPages } from '../reference/api-pages.ts'
import { cliPage } from '../reference/cli-page.ts'
import { errorsPage } from '../reference/errors-page.ts'

const document = apiDocument('1.2.3')
const pages = apiPages(document)
const all = Object.values(pages).join('\n')

/** The section of a page with an anchor. */
const sectionOf = (anchor: string, page = all) =>
  new RegExp(`^## [^\n]* \\{#${anchor}\\}\n(.*?)(?=^## |^# |(?![\\s\\S]))`, 'ms').exec(page)?.[1] ?? ''
const textOf = (anchor: string) => sectionOf(anchor).replaceAll(/<[^>]*>/g, '')

test.each(Object.entries<Route>(routes))('%s has a section with its purpose and its requirements', (name, route) => {
  const section = sectionOf(name)
  expect(section).toContain(`<b class="method">${route.method}</b> <code>${route.path}</code>`)
  expect(section).toContain(
    route.scope === null ? 'no key' : route.scope === 'any' ? 'Any key' : `<code>${route.scope}</code>`,
  )
  for (const code of route.errors) expect(section).toContain(`href="/docs/reference/errors#${code}"`)
  for (const status of Object.keys(route.answers)) expect(section).toContain(`<b class="status">${status}</b>`)
  expect(pages['reference/api.md']).toMatch(
    new RegExp(`^\\| \\[\`${route.method} .*\`\\]\\(\\./api-\\w+\\.md#${name}\\) \\| \\S`, 'm'),
  )
})

test('a field has its type, whether it is required, its default, its bounds and its description', () => {
  const text = textOf('startCommand')
  expect(text).toContain('argv list of string (1 to 1024 items)\nA program and its arguments, without a shell.')
  expect(text).toContain(
    'timeout_secs number (0 to 604800)\nThe time limit in seconds. At the limit, every process of the command is killed. 0: no limit. Default 60.\n',
  )
  expect(textOf('copyFile')).toContain('source string required\nThe absolute path of the file or directory to copy.')
  expect(textOf('listRuntimes')).toContain('limit integer (1 to 100)\nThe most items in a page. Default 50.\n')
})

test('an answer with 503 that is not an error is listed as an answer', () => {
  expect(sectionOf('readiness')).toMatch(
    /<b class="status">503<\/b> .*href="\/docs\/reference\/schemas#schema-Readiness"/,
  )
})

test('every schema has a section', () => {
  for (const name of Object.keys(document.components.schemas)) expect(sectionOf(`schema-${name}`), name).toContain('<')
})

test('a block of HTML has no empty line, and closes every tag', () => {
  const blocks = [...all.matchAll(/^<div class="api" v-pre>\n(.*?)^<\/div>\n/gms)].map(([, inside = '']) => inside)
  expect(blocks.length).toBeGreaterThan(200)
  for (const block of blocks) {
    expect(block).not.toMatch(/\n\s*\n/)
    const open: string[] = []
    for (const [, end, tag = ''] of block.matchAll(/<(\/?)([a-z]\w*)/g)) {
      if (end === '') open.push(tag)
      else expect(open.pop()).toBe(tag)
    }
    expect(open).toEqual([])
  }
})

test('text of the description is never parsed as HTML', () => {
  const hostile = '<b a="x\'y"&{{'
  const infect = (value: unknown, key: string): unknown => {
    // The values that decide how something is shown stay as they are.
    if (typeof value === 'string')
      return ['type', 'in', 'name', 'operationId', 'tags'].includes(key) ? value : value + hostile
    if (Array.isArray(value)) return value.map((inner) => infect(inner, key === 'tags' ? key : ''))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, infect(inner, name)]))
  }
  const infected = Object.values(apiPages(infect(document, '') as ApiDocument)).join('\n')
  expect(infected.split('&lt;b a=').length).toBeGreaterThan(1000)
  expect(infected.split('\n').filter((line) => line.includes('<b a'))).toEqual([])
})

test('the examples are valid requests of their routes', () => {
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

test('an example is a shell command', () => {
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

test('every error has its status, its meaning, its remedy and its routes', () => {
  const page = errorsPage(document)
  for (const [code, { status }] of Object.entries(errorCatalogue)) {
    const section = page.split(`\n## ${code}\n`)[1]?.split('\n## ')[0] ?? ''
    expect(section).toMatch(new RegExp(`<b class="status">${status}</b> \\S.+\\.</p>\n<p><b>What to do:</b> \\S`))
    expect(section).toMatch(/<p class="type">(Routes: <a href="\/docs\/reference\/api-|Many routes|Any route)/)
  }
  expect(page.split('\n## name_taken\n')[1]?.split('\n## ')[0]).toContain('api-runtimes#createRuntime')
})

test('every command has its options and its examples', () => {
  const page = cliPage('holtd: the help')
  const check = (outlines: typeof verbOutlines, before: string) => {
    for (const { name, options, arguments: operands, after, commands } of outlines) {
      const section = new RegExp(`^#+ ${before}${name}\n(.*?)(?=^#)`, 'ms').exec(page)?.[1] ?? ''
      for (const { flags } of options) expect(section, `${before}${name}`).toContain(`<code>${escaped(flags)}</code>`)
      for (const { text } of operands) expect(section, `${before}${name}`).toContain(`<code>${escaped(text)}</code>`)
      if (after.includes('Examples:')) expect(section, `${before}${name}`).toContain('Examples:')
      check(commands, `${before}${name} `)
    }
  }
  check(verbOutlines, 'holt ')
  expect(page).toContain('holtd: the help')
})

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll("'", '&#39;')
}

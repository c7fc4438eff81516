import { expect, test } from 'vitest'
import { holtName, parseTemplateName, presentTag } from '../../src/templates/template-names.ts'

test.each([
  ['app', { name: 'app', tag: 'latest' }],
  ['app:default', { name: 'app', tag: 'latest' }],
  ['app:v1.2', { name: 'app', tag: 'v1.2' }],
])('%s is %j', (reference, expected) => {
  expect(parseTemplateName(reference)).toEqual(expected)
})

test('gives names that are no DNS labels one that is, and no two the same', () => {
  const names = ['my_app', 'my-app_', '_my-app', 'my__app', '_', '-', 'a'.repeat(64), 'a'.repeat(65)]
  const kept = names.map(holtName)
  expect(new Set(kept).size).toBe(names.length)
  for (const name of kept) expect(name).toMatch(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/)
  expect(holtName('my-app')).toBe('my-app')
})

test.each(['', 'a b', 'a:b:c', 'a:', 'ä', '../x'])('refuses the name %j', (reference) => {
  expect(() => parseTemplateName(reference)).toThrow(expect.objectContaining({ status: 400 }))
})

test('shows the default tag as clients call it', () => {
  expect([presentTag('latest'), presentTag('v1')]).toEqual(['default', 'v1'])
})

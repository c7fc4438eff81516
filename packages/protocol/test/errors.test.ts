import { expect, test } from 'vitest'
import { type ErrorCode, errorCatalogue, HoltError, type Route, routes } from '../src/index.ts'

test('every code has a 4xx or 5xx status and a hint', () => {
  for (const [code, { status, hint }] of Object.entries(errorCatalogue)) {
    expect(code).toMatch(/^[a-z_]+$/)
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(600)
    expect(hint).toMatch(/^[A-Z].*\.$/)
  }
})

test('an error carries the status and the hint of its code', () => {
  const error = new HoltError('name_taken', 'the name "a" is taken')
  expect(error).toMatchObject({ code: 'name_taken', status: 409, message: 'the name "a" is taken' })
  expect(error.hint).toBe(errorCatalogue.name_taken.hint)
  expect(new HoltError('name_taken', 'm', { hint: 'Other.' }).hint).toBe('Other.')
})

test('routes list only codes of the catalogue, each once', () => {
  for (const [name, route] of Object.entries<Route>(routes)) {
    const codes: readonly ErrorCode[] = route.errors
    expect(new Set(codes).size, name).toBe(codes.length)
    for (const code of codes) expect(errorCatalogue[code], `${name}: ${code}`).toBeDefined()
  }
})

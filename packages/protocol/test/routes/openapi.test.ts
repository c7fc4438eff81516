import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, test } from 'vitest'
import { openApi, type Route, routeGroups, routes } from '../../src/index.ts'

const description = openApi('1.2.3')

test('is valid OpenAPI 3.1 and every reference in it resolves', async () => {
  const validator = new Validator()
  const result = await validator.validate(structuredClone(description))
  expect(result.errors).toBeUndefined()
  expect(result.valid).toBe(true)
  expect(validator.version).toBe('3.1')
  validator.resolveRefs()
})

test('describes each route of the table, and no other', () => {
  const paths = description.paths as Record<string, Record<string, { operationId: string }>>
  const described = Object.values(paths).flatMap((path) =>
    Object.values(path).map((operation) => operation.operationId),
  )
  expect(described.sort()).toEqual(Object.keys(routes).sort())
})

test('has a tag for each route, and the order of the groups', () => {
  const paths = description.paths as Record<string, Record<string, { tags: string[] }>>
  const used = Object.values(paths).flatMap((path) => Object.values(path).map(({ tags }) => tags))
  const names = (description.tags as { name: string }[]).map(({ name }) => name)
  expect(used.every(({ length }) => length === 1)).toBe(true)
  expect(new Set(used.flat())).toEqual(new Set(names))
  expect(
    Object.values(routeGroups)
      .flatMap((group) => Object.keys(group))
      .sort(),
  ).toEqual(Object.keys(routes).sort())
})

test('every answer of every route is described', () => {
  const paths = description.paths as Record<string, Record<string, { responses: Record<string, unknown> }>>
  for (const [name, route] of Object.entries<Route>(routes)) {
    const responses = Object.keys(paths[route.path]?.[route.method.toLowerCase()]?.responses ?? {})
    expect(responses, name).toEqual(expect.arrayContaining(Object.keys(route.answers)))
    if (route.scope !== null) expect(responses, name).toEqual(expect.arrayContaining(['400', '401', '403', '500']))
  }
})

test('bodies refuse unknown fields', () => {
  const schemas = (description.components as { schemas: Record<string, { additionalProperties?: unknown }> }).schemas
  for (const name of [
    'CreateRuntime',
    'UpdateRuntime',
    'StartCommand',
    'CopyFile',
    'MoveFile',
    'RemoveFile',
    'MakeDirectory',
    'CreateKey',
    'UpdatePort',
    'CreatePolicy',
    'ReplacePolicy',
    'CreateSecret',
    'ReplaceSecret',
    'SetRuntimeNetwork',
    'TestNetwork',
    'CreateBuild',
    'CheckDockerfile',
    'PullTemplate',
  ]) {
    expect(schemas[name]?.additionalProperties, name).toBe(false)
  }
})

test('every property, parameter and frame has a description', () => {
  const described = [...fieldsOf(description)]
  expect(described.length).toBeGreaterThan(1000)
  expect(described.filter(({ text }) => !isDescription(text)).map(({ at }) => at)).toEqual([])
})

interface Field {
  readonly at: string
  readonly text: unknown
}

/** Yields each property of a schema, and each parameter, with its description. */
function* fieldsOf(value: unknown, at = '#'): Generator<Field> {
  if (typeof value !== 'object' || value === null) return
  const { properties, parameters } = value as { properties?: unknown; parameters?: unknown }
  if (isSchemas(properties)) {
    for (const [name, { description: text }] of Object.entries(properties)) yield { at: `${at}.${name}`, text }
  }
  if (Array.isArray(parameters)) {
    for (const { name, description: text } of parameters) yield { at: `${at}?${name}`, text }
  }
  for (const [key, inner] of Object.entries(value)) yield* fieldsOf(inner, `${at}/${key}`)
}

/** Returns true for the `properties` of a schema; false for a property of that name. */
function isSchemas(value: unknown): value is Record<string, { description?: unknown }> {
  return typeof value === 'object' && value !== null && Object.values(value).every((inner) => typeof inner === 'object')
}

/** Returns true for a sentence, or a phrase that ends as one. */
function isDescription(text: unknown): boolean {
  return typeof text === 'string' && /^\S.{3,}[.:]$/s.test(text)
}

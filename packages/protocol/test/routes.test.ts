import { expect, test } from 'vitest'
import { CreateRuntime, type Route, routes, StartCommand } from '../src/index.ts'

const entries = Object.entries<Route>(routes)

test('no two routes have the same method and path', () => {
  const keys = entries.map(([, { method, path }]) => `${method} ${path}`)
  expect(new Set(keys).size).toBe(keys.length)
})

test('every path parameter has a schema, and all but the service routes need a key', () => {
  for (const [name, { path, params, scope }] of entries) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
    expect(
      params?.safeParse(Object.fromEntries(names.map((key) => [key, 'x']))).success ?? names.length === 0,
      name,
    ).toBe(true)
    expect(scope === null, name).toBe(!path.startsWith('/v1/'))
  }
})

test('a create without anything takes base-small', () => {
  expect(CreateRuntime.parse({})).toEqual({
    template: 'base-small',
    env: {},
    metadata: {},
    timeout_secs: null,
    on_timeout: 'terminate',
  })
})

test('a create names every wrong field at once and refuses unknown ones', () => {
  const { error } = CreateRuntime.safeParse({
    name: 'Bad Name',
    memory: '8',
    disk: -1,
    cpu: 0,
    env: { 'a-b': 'x' },
    nope: 1,
  })
  const pointers = error?.issues.map((issue) => issue.path.join('/'))
  expect(pointers).toEqual(expect.arrayContaining(['name', 'memory', 'disk', 'cpu', 'env/a-b']))
  expect(error?.issues.some((issue) => issue.code === 'unrecognized_keys')).toBe(true)
})

test.each([{}, { command: 'a', argv: ['b'] }, { argv: [] }, { command: 'a\0b' }, { command: '' }])(
  '%j is not a command',
  (body) => {
    expect(StartCommand.safeParse(body).success).toBe(false)
  },
)

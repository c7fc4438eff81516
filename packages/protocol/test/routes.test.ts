import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  CreateRuntime,
  CreateSnapshot,
  ForkRuntime,
  makeId,
  pairsOf,
  Rlimits,
  type Route,
  routes,
  SignalName,
  StartCommand,
  UpdateRuntime,
} from '../src/index.ts'

const entries = Object.entries<Route>(routes)

test('no two routes have the same method and path', () => {
  const keys = entries.map(([, { method, path }]) => `${method} ${path}`)
  expect(new Set(keys).size).toBe(keys.length)
})

/** The routes without a key, with which a machine can be monitored. */
const open = ['/healthz', '/readyz', '/openapi.json', '/docs']

test('every path parameter has a schema, and all routes except the public ones need a key', () => {
  for (const [name, { path, params, scope }] of entries) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
    expect(
      params?.safeParse(Object.fromEntries(names.map((key) => [key, key === 'port' ? '80' : 'x']))).success ??
        names.length === 0,
      name,
    ).toBe(true)
    expect(scope === null, name).toBe(open.includes(path) || path.startsWith('/.well-known/'))
  }
})

/** The routes below a runtime that any host answers, from rows. */
const fromRows = ['getRuntime', 'readRuntimeEvents']

/** The routes that need the host of a build. */
const ofBuilds = ['cancelBuild', 'readBuildLogs']

/** The routes that make something on a host that placement chooses. */
const placed = ['createRuntime', 'createBuild', 'pullTemplate']

test('every route says which host of a fleet answers it', () => {
  for (const [name, { path, runsOn, scope }] of entries) {
    const ofRuntime = path.includes('{runtime_id}') && !fromRows.includes(name)
    const ofBuild = ofBuilds.includes(name)
    const expected = ofRuntime ? 'owner' : ofBuild ? 'builder' : placed.includes(name) ? 'placed' : 'entry'
    expect(runsOn, name).toBe(expected)
    if (scope === null) expect(runsOn, name).toBe('entry')
  }
})

/** Fields that open something: whoever may ask again may not have been shown them. */
const shown = ['key', 'secret', 'token']

test('every POST whose answer has a secret is marked', () => {
  const found = entries.filter(([, { method, answers }]) => {
    const schemas = Object.values(answers).flatMap((success) => (success.type === 'json' ? [success.schema] : []))
    const shows = (schema: z.ZodType) => schema instanceof z.ZodObject && shown.some((field) => field in schema.shape)
    return method === 'POST' && schemas.some(shows)
  })
  const names = found.map(([name]) => name)
  expect(names).toHaveLength(6)
  expect(entries.filter(([, { showsSecret }]) => showsSecret).map(([name]) => name)).toEqual(names)
})

test('a create has no default that depends on the template and the machine', () => {
  expect(CreateRuntime.parse({})).toEqual({ env: {}, metadata: {}, secrets: [] })
})

test('a create takes either a template or a snapshot', () => {
  expect(CreateRuntime.safeParse({ snapshot: 'before' }).success).toBe(true)
  const { error } = CreateRuntime.safeParse({ template: 'base-small', snapshot: 'before' })
  expect(error?.issues.map(({ path }) => path)).toEqual([['snapshot']])
})

test.each([
  [{ timeout_secs: null, idle_timeout_secs: null }, true],
  [{ timeout_secs: 30 * 86_400, on_timeout: 'pause' }, true],
  [{ timeout_secs: 0 }, false],
  [{ timeout_secs: 1.5 }, false],
  [{ idle_timeout_secs: 30 * 86_400 + 1 }, false],
  [{ on_timeout: 'sleep' }, false],
  [{ auto_resume: 'yes' }, false],
])('the deadline %j is valid in a create, a change and a fork: %j', (deadline, valid) => {
  for (const schema of [CreateRuntime, UpdateRuntime, ForkRuntime])
    expect(schema.safeParse(deadline).success).toBe(valid)
})

test.each([
  [{}, 1],
  [{ count: 100 }, 100],
  [{ count: 101 }, null],
  [{ count: 0 }, null],
])('a fork of %j has %j children', (body, count) => {
  expect(ForkRuntime.safeParse(body).data?.count ?? null).toBe(count)
})

test.each([
  [{}, true],
  [{ name: 'before', kind: 'filesystem' }, true],
  [{ kind: 'disk' }, false],
  [{ name: makeId('snapshot') }, false],
])('a snapshot as %j is valid: %j', (body, valid) => {
  expect(CreateSnapshot.safeParse(body).success).toBe(valid)
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

test.each([
  [{ nofile: 5 }, { nofile: { soft: 5, hard: 5 } }],
  [{ nofile: { soft: 5 } }, { nofile: { soft: 5, hard: 5 } }],
  [{ cpu: { soft: 5, hard: 'unlimited' } }, { cpu: { soft: 5, hard: null } }],
  [
    { core: 0, as: 'unlimited' },
    { core: { soft: 0, hard: 0 }, as: { soft: null, hard: null } },
  ],
])('the limits %j are %j', (limits, pairs) => {
  expect(pairsOf(Rlimits.parse(limits))).toEqual(pairs)
})

test.each([{ nofile: { soft: 'unlimited', hard: 5 } }, { nofile: { soft: 6, hard: 5 } }, { nofiles: 1 }, { cpu: '5' }])(
  '%j are not valid limits',
  (limits) => {
    expect(Rlimits.safeParse(limits).success).toBe(false)
  },
)

test('signals are parsed by name, and real-time ones by their offset', () => {
  for (const name of ['SIGTERM', 'SIGRTMIN', 'SIGRTMIN+1', 'SIGRTMIN+30'])
    expect(SignalName.safeParse(name).success, name).toBe(true)
  for (const name of ['TERM', 'SIGNOPE', 'SIGRTMIN+0', 'SIGRTMIN+31', 'SIGRTMIN+01', 'SIGRTMAX', ''])
    expect(SignalName.safeParse(name).success, name).toBe(false)
})

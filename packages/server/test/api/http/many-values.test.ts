import { longestPieceMs, longestPieceOf } from '@holt/testkit'
import { expect, test } from 'vitest'
import { startTestServer } from '../../support/start-test-server.ts'

const many = <Value>(count: number, value: Value): Value[] => Array.from({ length: count }, () => value)
const fields = (count: number, prefix: string, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`${prefix}${at}`, value]))
const build = { name: 'web', from_image: 'debian' }

test.each<[string, string, object]>([
  ['wrong steps', 'template/build', { ...build, steps: many(39_900, 1) }],
  ['steps of wrong variables', 'template/build', { ...build, steps: many(400, { env: fields(95, '-', 1) }) }],
  [
    'steps of many sources',
    'template/build',
    { ...build, steps: many(39, { copy: { source: many(1000, ''), destination: '' } }) },
  ],
  ['wrong build arguments', 'template/build', { ...build, build_args: fields(8000, '-', 1) }],
  ['wrong variables', 'runtime', { env: fields(8000, '-', 1), metadata: fields(8000, ' ', 1) }],
  ['unknown fields', 'runtime', fields(8000, 'x', 1)],
  [
    'wrong rules',
    'network-policy',
    { name: 'a', allow: many(250, { host: 'a', ports: many(64, 0), paths: many(64, ''), methods: many(16, '') }) },
  ],
  ['rules in a runtime', 'runtime', { network_policy: { allow: many(19_900, {}) } }],
])('%s by the thousand are refused at once, and a hundred are named', async (_, path, json) => {
  const { ask } = await startTestServer()
  const longest = await longestPieceOf(async () => {
    const answer = await ask('POST', `/v1/agents/${path}`, { json })
    expect(answer.status).toBe(400)
    expect(answer.json.error.message).not.toContain('values') // All of it is compared with the schema.
    expect(answer.json.error.details.issues.length).toBeLessThanOrEqual(100)
  })
  expect(longest).toBeLessThan(longestPieceMs)
})

test('a network policy can have as many rules, ports, paths and methods as its schema allows', async () => {
  const { ask } = await startTestServer()
  const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']
  const rule = {
    host: 'a.example.com',
    ports: many(64, 443),
    paths: many(64, '/a/*'),
    methods: [...methods, ...methods],
  }
  const { status } = await ask('POST', '/v1/agents/network-policy', { json: { name: 'a', allow: many(250, rule) } })
  expect(status).toBe(201)
})

test('the steps of a build can have as many sources and variables as its schema allows', async () => {
  const { ask } = await startTestServer()
  const steps = (count: number) => {
    const source = many(count, 'a')
    return many(500, [
      { copy: { source, destination: '/a/', chown: 'a', chmod: '755' } },
      { env: fields(30, 'A', '') },
    ]).flat()
  }
  const answerTo = async (count: number) =>
    ask('POST', '/v1/agents/template/build', { json: { ...build, steps: steps(count) } })
  expect((await answerTo(30)).status).toBe(202)
  const refused = await answerTo(31)
  expect(refused.json.error).toMatchObject({ code: 'invalid_request', details: { issues: [{ pointer: '/steps' }] } })
  expect(refused.json.error.message).toContain('at most 30000 sources and variables')
})

test('no object can have more fields than build arguments', async () => {
  const { ask } = await startTestServer()
  const checked = (count: number) =>
    ask('POST', '/v1/agents/template/check', {
      json: { dockerfile: 'FROM scratch', build_args: fields(count, 'A', '') },
    })
  expect((await checked(8000)).status).toBe(200)
  const { status, json } = await checked(8001)
  expect(status).toBe(400)
  expect(json.error.message).toContain('more than 8000 fields')
})

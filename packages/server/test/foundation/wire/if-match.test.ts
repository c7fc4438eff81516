import { type Route, routes } from '@holt/protocol'
import { expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'

/** A thing that changes under a condition. */
interface Thing {
  /** Makes the thing, and returns its path. */
  readonly make: (server: TestServer) => Promise<string>
  readonly method: 'PUT' | 'PATCH'
  /** Returns the body of a change. Each number makes another one. */
  readonly change: (number: number) => object
  /** Returns the text of an answer that has the number of the last change. */
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  readonly textOf: (json: any) => string
}

const made =
  (path: string, body: object, id: string): Thing['make'] =>
  async ({ ask }) =>
    `${path}/${(await ask('POST', path, { json: body })).json[id]}`

const hook = 'https://hooks.example.com/holt'
const things: Readonly<Record<string, Thing>> = {
  replacePolicy: {
    make: made('/v1/agents/network-policy', { name: 'web' }, 'policy_id'),
    method: 'PUT',
    change: (number) => ({ allow: [{ host: `h${number}.example.com` }] }),
    textOf: ({ allow }) => allow[0].host,
  },
  setNetwork: {
    make: async ({ makeRuntime }) => `/v1/agents/runtime/${await makeRuntime()}/network`,
    method: 'PUT',
    change: (number) => ({ network_policy: { allow: [{ host: `h${number}.example.com` }] } }),
    textOf: ({ policy }) => policy.allow[0].host,
  },
  replaceSecret: {
    make: made('/v1/agents/secret', { name: 'one', value: 'x', hosts: ['api.example.com'] }, 'secret_id'),
    method: 'PUT',
    change: (number) => ({ header: `x-${number}` }),
    textOf: ({ header }) => header,
  },
  replaceProvider: {
    make: made('/v1/agents/identity-provider', { name: 'cloud', type: 'workload', audience: 'a' }, 'provider_id'),
    method: 'PUT',
    change: (number) => ({ type: 'workload', audience: `a${number}` }),
    textOf: ({ settings }) => settings.audience,
  },
  updateWebhook: {
    make: made('/v1/agents/webhook', { url: hook }, 'webhook_id'),
    method: 'PATCH',
    change: (number) => ({ description: `note ${number}` }),
    textOf: ({ description }) => description,
  },
}

const numberOf = ({ textOf }: Pick<Thing, 'textOf'>, json: unknown) => Number(/\d+/.exec(textOf(json)))

const conditional = Object.entries<Route>(routes).filter(([, { takesIfMatch }]) => takesIfMatch === true)

test('every route that takes If-Match is tried here; that of files has a test of its own', () => {
  expect(conditional.map(([name]) => name).toSorted()).toEqual([...Object.keys(things), 'writeFile'].toSorted())
  for (const [name, { errors }] of conditional) expect(errors, name).toContain('precondition_failed')
})

test.each(Object.entries(things))('%s changes only the version of its etag', async (_, { make, method, ...thing }) => {
  const server = await startTestServer()
  const path = await make(server)
  const change = (number: number, match?: string) =>
    server.ask(method, path, {
      json: thing.change(number),
      ...(match === undefined ? {} : { headers: { 'if-match': match } }),
    })
  const { etag } = (await server.ask('GET', path)).json
  const first = await change(1, etag)
  expect([first.status, numberOf(thing, first.json)]).toEqual([200, 1])
  expect(first.json.etag).not.toBe(etag)
  const late = await change(2, etag)
  expect([late.status, late.json.error.code]).toEqual([412, 'precondition_failed'])
  expect(late.json.error.message).toContain(first.json.etag)
  const kept = (await server.ask('GET', path)).json
  expect([numberOf(thing, kept), kept.etag]).toEqual([1, first.json.etag])
  for (const wrong of ['etag', 'W/"1"', '"1", "2"', ''])
    expect((await change(2, wrong)).json.error.details.issues[0].pointer).toBe('/header/If-Match')
  expect(numberOf(thing, (await change(3, '*')).json)).toBe(3)
  expect(numberOf(thing, (await change(4)).json)).toBe(4)
})

test.each(Object.entries(things))('%s: one of many changes at once wins', async (_, { make, method, ...thing }) => {
  const server = await startTestServer()
  const path = await make(server)
  const { etag } = (await server.ask('GET', path)).json
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, at) =>
      server.ask(method, path, { json: thing.change(at + 1), headers: { 'if-match': etag } }),
    ),
  )
  const winner = answers.findIndex(({ status }) => status === 200)
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 9 }, () => 412)])
  expect(numberOf(thing, (await server.ask('GET', path)).json)).toBe(winner + 1)
})

test('a change of a stored policy changes the etag of the networks of its runtimes', async () => {
  const { ask, makeRuntime } = await startTestServer()
  await ask('POST', '/v1/agents/network-policy', { json: { name: 'web' } })
  const path = `/v1/agents/runtime/${await makeRuntime({ network_policy: 'web' })}/network`
  const { etag } = (await ask('GET', path)).json
  await ask('PUT', '/v1/agents/network-policy/web', { json: { include: ['npm'] } })
  const headers = { 'if-match': etag }
  expect((await ask('PUT', path, { json: { network_policy: null }, headers })).json.error.code).toBe(
    'precondition_failed',
  )
  expect((await ask('GET', path)).json.network_policy).toMatchObject({ type: 'stored' })
})

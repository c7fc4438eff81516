import { commonErrors, type ErrorCode, type Route, routes } from '@holt/protocol'
import { byLength, shareOf } from '@holt/testkit'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyJson, arbitraryOf } from '../../support/arbitrary-of-schema.ts'
import { giveBridge } from '../../support/fake-bridge.ts'
import { startTestServer } from '../../support/start-test-server.ts'

/** A request of one route, made from the route's own schemas. */
function requestOf(
  route: Route,
  ids: Readonly<Record<string, string>>,
): fc.Arbitrary<{ path: string; json?: unknown; body?: string }> {
  const params = fc.constantFrom(true, true, true, true, false).chain((real) =>
    real
      ? fc.constant(ids)
      : fc.dictionary(
          fc.constantFrom(...Object.keys(ids)),
          fc.string({ unit: 'binary', minLength: 1 }).map((text) => text.toWellFormed()),
          { maxKeys: 3 },
        ),
  )
  const query = route.query === undefined ? fc.constant({}) : arbitraryOf(route.query)
  const body =
    route.body.type === 'json'
      ? fc.oneof({ weight: 9, arbitrary: arbitraryOf(route.body.schema) }, { weight: 1, arbitrary: anyJson })
      : fc.constant(undefined)
  return fc.tuple(params, query, body).map(([values, fields, json]) => ({
    path: `${route.path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? ids[name] ?? 'x'))}${queryText(fields)}`,
    ...(json === undefined ? {} : { json }),
    ...(route.body.type === 'bytes' ? { body: 'bytes' } : {}),
  }))
}

function queryText(fields: unknown): string {
  if (typeof fields !== 'object' || fields === null) return ''
  const pairs = Object.entries(fields).map(
    ([name, value]) => `${encode(name)}=${encode(typeof value === 'string' ? value : JSON.stringify(value))}`,
  )
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/** Text as a client would encode it; half a character cannot be. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

/** The requests of each route. */
const numRuns = byLength({ short: 20, long: 60, soak: 60 })

/** The errors of any route before its handler runs. */
const framing: readonly ErrorCode[] = ['route_not_found', 'method_not_allowed', 'unsupported_media_type']

/**
 * A short run sends them to half of the routes: `e2e/bad-input` has each route, over real runtimes.
 */
test.each(shareOf(Object.entries<Route>(routes), 1 / 2, 'routes'))(
  '%s answers every input within its contract, and never with 500',
  async (_name, route) => {
    const { ask, makeRuntime, logged, engine } = await startTestServer()
    const runtime_id = await makeRuntime()
    const { context_id } = giveBridge(engine, runtime_id).create()
    const { command_id } = (
      await ask('POST', `/v1/agents/runtime/${runtime_id}/commands`, { json: { command: 'sleep', background: true } })
    ).json
    const make = async (path: string, json: object) => (await ask('POST', `/v1/agents/${path}`, { json })).json
    await make('network-policy', { name: 'one', include: ['npm'] })
    await make('secret', { name: 'one', value: 'hunter22', hosts: ['registry.npmjs.org'] })
    await make('identity-provider', { name: 'one', type: 'static', value: 'hunter22' })
    const ids = {
      runtime_id,
      command_id,
      context_id,
      template_id: 'base-small',
      key_id: 'ky00000000000000000000',
      policy_id: 'one',
      secret_id: 'one',
      provider_id: 'one',
      port: '3000',
    }
    const allowed = new Set<ErrorCode>([...commonErrors, ...route.errors, ...framing])
    await fc.assert(
      fc.asyncProperty(requestOf(route, ids), async ({ path, ...request }) => {
        // A command that runs on is not what is looked for here.
        const answer = await ask(route.method, path, { ...request, signal: AbortSignal.timeout(500) }).catch(
          (error: Error) => {
            if (error.name === 'TimeoutError') return null
            throw error
          },
        )
        if (answer === null || answer.status in route.answers) return
        expect(answer.status).not.toBe(500)
        expect(allowed).toContain(answer.json.error.code)
      }),
      // Routes that keep an answer open take the whole time of each run.
      { numRuns, interruptAfterTimeLimit: 40_000 },
    )
    expect(logged.filter(({ level, message }) => level === 'error' && message === 'a request failed')).toEqual([])
    expect((await ask('GET', '/healthz')).status).toBe(200)
  },
  60_000,
)

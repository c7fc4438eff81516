import { type Route, type RouteName, routes } from '@holt/protocol'
import { expect, test } from 'vitest'
import { giveCode } from '../../support/fake-bridge.ts'
import { FakeBuilder } from '../../support/fake-builder.ts'
import { leastRequests } from '../../support/least-requests.ts'
import { makeProject } from '../../support/own-project.ts'
import { startTestServer } from '../../support/start-test-server.ts'
import { fillPath, makeThings, noThings, type Things } from '../../support/things-of-a-project.ts'

const paramsOf = (path: string) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)

/** Routes about a part of a thing: with the parent's id right, its own check is all there is. */
const ofParts = (Object.entries<Route>(routes) as [RouteName, Route][]).filter(
  ([, { path }]) => paramsOf(path).length > 1,
)

/**
 * An answer's text without what is of that one request (its id, a new token) and without the part
 * that it asked for.
 */
function withoutPart(text: string, named: readonly string[]): string {
  const lasting = text.replaceAll(/"(?:request_id|token|expires_at)":"[^"]*"/g, '')
  return named.reduce((told, id) => told.replaceAll(id, 'the part'), lasting)
}

/** Two projects with something of each kind, and more of the same in the second one. */
async function setUp() {
  const server = await startTestServer({ builder: new FakeBuilder() })
  const { ask } = await makeProject(server, 'another')
  const foreign = await makeThings(server.ask, 'mine', '3000')
  const own = await makeThings(ask, 'theirs', '5000')
  const sibling = await makeThings(ask, 'sibling', '6000')
  for (const things of [foreign, own, sibling]) giveCode(server.engine, things)
  return { ask, foreign, own, sibling }
}

test('a sub-resource is found only below its own parent, on every route', async () => {
  const { ask, own, foreign, sibling } = await setUp()
  expect(new Set(ofParts.flatMap(([, { path }]) => paramsOf(path).slice(1)))).toEqual(
    new Set(['command_id', 'context_id', 'run_id', 'name', 'port', 'delivery_id']),
  )
  for (const [name, { method, path }] of ofParts) {
    const { query = '', json } = leastRequests[name] ?? {}
    const [parent = '', ...parts] = paramsOf(path)
    const answerFor = async (of: Things) => {
      const named = parts.map((part) => of[part as keyof Things])
      const ids = { ...of, [parent]: own[parent as keyof Things] }
      const { status, text } = await ask(method, fillPath(path, ids) + query, json === undefined ? {} : { json })
      return [name, status, withoutPart(text, named)]
    }
    const unknown = await answerFor(noThings)
    expect(await answerFor(foreign)).toEqual(unknown)
    expect(await answerFor(sibling)).toEqual(unknown)
    // A port is a number that every runtime has, and the end of a session that is not there is the
    // end of one.
    if (!parts.includes('port') && !parts.includes('name')) expect(unknown[1]).toBe(404)
  }
})

test('a sub-resource cannot be changed through another parent', async () => {
  const server = await startTestServer({ builder: new FakeBuilder() })
  const { ask } = await makeProject(server, 'another')
  const [foreign, own] = [await makeThings(server.ask, 'mine'), await makeThings(ask, 'theirs', '5000')]
  for (const things of [foreign, own]) giveCode(server.engine, things)
  const read = async () => {
    const runtime = `/v1/agents/runtime/${foreign.runtime_id}`
    const paths = [
      `${runtime}/commands`,
      `${runtime}/sessions`,
      `${runtime}/contexts`,
      `/v1/agents/webhook/${foreign.webhook_id}/deliveries`,
    ]
    const parts = await Promise.all(paths.map(async (path) => (await server.ask('GET', path)).json.data))
    return [...parts, (await server.ask('GET', runtime)).json.ports]
  }
  const before = await read()
  expect(before.every((part) => part.length > 0)).toBe(true)
  for (const [name, { method, path }] of ofParts) {
    const { query = '', json } = leastRequests[name] ?? {}
    const [parent = ''] = paramsOf(path)
    const ids = { ...foreign, [parent]: own[parent as keyof Things] }
    await ask(method, fillPath(path, ids) + query, json === undefined ? {} : { json })
  }
  expect(await read()).toEqual(before)
})

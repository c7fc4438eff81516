import { controlRoutes, envdRoutes, rpcPaths } from '@holt/e2b'
import { makeId } from '@holt/protocol'
import { expect, test } from 'vitest'
import { type E2bServer, startE2bServer } from '../../support/e2b-server.ts'
import { makeProject } from '../../support/own-project.ts'

/** The least body of each route that needs one. */
const bodies: Readonly<Record<string, object>> = {
  connectSandbox: { timeout: 5 },
  connectSandboxV1: { timeout: 5 },
  setTimeout: { timeout: 5 },
  setNetwork: {},
  createSnapshot: { name: 'theirs' },
  forkSandbox: { count: 1 },
}

const ofOneThing = Object.entries(controlRoutes).filter(([, { path }]) => path.includes('{'))

async function setUp() {
  const server = await startE2bServer()
  const made = (await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base' } })).json
  const snapshot = await server.e2b('POST', `/sandboxes/${made.sandboxID}/snapshots`, { json: { name: 'mine' } })
  const foreign = (await makeProject(server, 'another')).key
  return { server, made, snapshotID: snapshot.json.snapshotID as string, foreign }
}

async function ask(
  server: E2bServer,
  route: readonly [string, { readonly method: string; readonly path: string }],
  { id, key }: { id: string; key: string },
) {
  const [name, { method, path }] = route
  const json = bodies[name]
  const { status, text } = await server.e2b(method, path.replace(/\{\w+\}/, id), {
    key,
    ...(json === undefined ? {} : { json }),
  })
  return { status, told: text.replaceAll(id, 'what was asked for') }
}

test('a thing of another project is the same 404 as a missing one, on every route', async () => {
  const { server, made, snapshotID, foreign } = await setUp()
  for (const route of ofOneThing) {
    const [name, { path }] = route
    const [mine, none] = path.includes('{sandboxID}')
      ? [made.sandboxID, makeId('runtime')]
      : [snapshotID, makeId('snapshot')]
    const theirs = await ask(server, route, { id: mine, key: foreign })
    expect([name, theirs.status]).toEqual([name, 404])
    expect([name, theirs]).toEqual([name, await ask(server, route, { id: none, key: foreign })])
  }
  const { json } = await server.e2b('GET', `/sandboxes/${made.sandboxID}`)
  expect(json).toMatchObject({ state: 'running', sandboxID: made.sandboxID })
  expect((await server.e2b('GET', '/snapshots')).json).toEqual([{ snapshotID, names: ['mine'] }])
})

test('lists, metrics and creates know nothing of another project', async () => {
  const { server, made, snapshotID, foreign } = await setUp()
  for (const path of ['/v2/sandboxes', '/sandboxes', '/snapshots'])
    expect([path, (await server.e2b('GET', path, { key: foreign })).json]).toEqual([path, []])
  const { json } = await server.e2b('GET', `/sandboxes/metrics?sandbox_ids=${made.sandboxID}`, { key: foreign })
  expect(json).toEqual({ sandboxes: {} })
  for (const templateID of [snapshotID, 'mine', 'default/base-small', 'default/mine']) {
    const create = await server.e2b('POST', '/v2/sandboxes', { key: foreign, json: { templateID } })
    expect([templateID, create.status]).toEqual([templateID, 404])
  }
})

test('a name may begin with the project of the key', async () => {
  const { server } = await setUp()
  const create = (templateID: string) => server.e2b('POST', '/v2/sandboxes', { json: { templateID } })
  for (const name of ['default/base-small', 'base-small:default', 'mine', 'mine:default'])
    expect([name, (await create(name)).status]).toEqual([name, 201])
})

test('tokens of one sandbox open no other', async () => {
  const { server, made } = await setUp()
  const other = (await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base' } })).json
  expect(other.envdAccessToken).not.toBe(made.envdAccessToken)
  const open = async (token: string) => {
    const headers = { 'E2b-Sandbox-Id': other.sandboxID, 'E2b-Sandbox-Port': '49983', 'X-Access-Token': token }
    return (await server.e2b('GET', '/envs', { headers, key: null })).status
  }
  expect(await open(made.envdAccessToken)).toBe(401)
  expect(await open(`${other.envdAccessToken}, ${made.envdAccessToken}`)).toBe(401)
  expect(await open(other.envdAccessToken)).not.toBe(401)
})

/** Every request for commands, files and watches, in each of its media types. */
const insideRequests = Object.entries(envdRoutes).flatMap(([name, { method, path }]) => {
  if (name === 'envdHealth') return []
  if (!path.includes('{')) return [{ method, path, types: ['application/octet-stream'] }]
  const types = ['application/json', 'application/connect+json']
  return rpcPaths
    .filter((rpc) => rpc.startsWith(path.replace('{method}', '')))
    .map((rpc) => ({ method, path: rpc, types }))
})

test('no token, key or signature of another project opens commands, files or watches', async () => {
  const { server, made, foreign } = await setUp()
  const theirs = (await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base' }, key: foreign })).json
  const claims: readonly Readonly<Record<string, string>>[] = [
    {},
    { 'x-access-token': theirs.envdAccessToken },
    { 'x-access-token': foreign, 'x-api-key': foreign },
    { authorization: `Bearer ${foreign}` },
  ]
  const named = { 'e2b-sandbox-id': made.sandboxID, 'e2b-sandbox-port': '49983' }
  expect(insideRequests.length).toBeGreaterThan(rpcPaths.length)
  for (const { method, path, types } of insideRequests)
    for (const claim of claims) {
      const told: string[] = []
      for (const type of types) {
        const headers = { ...named, ...claim, 'content-type': type }
        const { status, text } = await server.e2b(method, path, { headers, key: null })
        // A stream has its error in the last message. The other media type is refused unseen.
        if (status === 200) expect(text).toContain('"code":"unauthenticated"')
        if (status !== 415) told.push(status === 200 ? '401' : String(status))
      }
      expect([path, ...told]).toEqual([path, '401'])
    }
  const path = `/v1/agents/runtime/${made.sandboxID}/commands`
  expect((await server.ask('GET', path)).json.data).toEqual([])
})

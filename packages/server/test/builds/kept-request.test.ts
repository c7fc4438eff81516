import { CreateBuild } from '@holt/protocol'
import { expect, test } from 'vitest'
import { keepRequest } from '../../src/builds/kept-request.ts'
import { aloneWith } from '../../src/foundation/store/alone.ts'
import type { Store } from '../../src/foundation/store/open-store.ts'
import { addBuild } from '../support/add-build.ts'
import { ended, FakeBuilder } from '../support/fake-builder.ts'
import { startTestServer, type TestServer } from '../support/start-test-server.ts'
import { openTestStore } from '../support/test-store.ts'

const builds = '/v1/agents/template/build'

const setUp = () => startTestServer({ builder: new FakeBuilder() })

async function build({ ask }: TestServer, json: object): Promise<string> {
  const { status, json: started, text } = await ask('POST', builds, { json: { name: 'app', ...json } })
  if (status !== 202) throw new Error(text)
  await ended({ ask }, started.build_id)
  return started.build_id
}

const requestOf = async ({ ask }: TestServer, id: string) => (await ask('GET', `${builds}/${id}/request`)).json

test('the request of a build is kept without secret values, and can be sent again', async () => {
  const server = await setUp()
  const asked = {
    tag: 'v2',
    dockerfile: 'FROM scratch\nRUN echo hunter22 of the file',
    target: 'one',
    build_args: { A: '1' },
    build_secrets: { token: 'hunter22' },
    registry_auth: { username: 'someone', password: 'hunter33' },
    start_cmd: 'serve hunter33',
    memory: 0.5,
    disk: '8GB',
    env: { B: '2' },
    no_cache: true,
  }
  const id = await build(server, asked)
  const kept = await requestOf(server, id)
  expect(kept).toMatchObject({
    build_secrets: ['token'],
    registry_user: 'someone',
    request: {
      name: 'app',
      tag: 'v2',
      dockerfile: 'FROM scratch\nRUN echo *** of the file',
      target: 'one',
      build_args: { A: '1' },
      start_cmd: 'serve ***',
      memory: '512MiB',
      disk: '7630MiB',
      env: { B: '2' },
      no_cache: true,
    },
  })
  expect(JSON.stringify(kept)).not.toMatch(/hunter/)
  const again = await requestOf(server, await build(server, kept.request))
  expect(again).toEqual({ request: kept.request, build_secrets: [], registry_user: null })
})

test('a request is kept after a restart, and a long one only without its body', async () => {
  const server = await setUp()
  const plain = await build(server, { from_image: 'alpine:3', steps: [{ run: 'id' }] })
  const long = await build(server, { name: 'long', dockerfile: `FROM scratch\n#${'x'.repeat(300_000)}` })
  const again = await server.restart()
  expect(await requestOf(again, plain)).toMatchObject({ request: { from_image: 'alpine:3', steps: [{ run: 'id' }] } })
  expect(await requestOf(again, long)).toEqual({ request: null, build_secrets: [], registry_user: null })
})

test('a request is shown to keys of the project that may read templates', async () => {
  const server = await setUp()
  const id = await build(server, { dockerfile: 'FROM scratch' })
  const path = `${builds}/${id}/request`
  const { key } = await server.makeKey('template:read')
  expect((await server.ask('GET', path, { key })).status).toBe(200)
  const { key: other } = await server.makeKey('runtime:read')
  expect((await server.ask('GET', path, { key: other })).json.error.code).toBe('forbidden')
  const { project_id } = (await server.ask('POST', '/v1/agents/project', { json: { name: 'second' } })).json
  const json = { name: 'theirs', scopes: ['admin'], project: project_id }
  const { key: theirs } = (await server.ask('POST', '/v1/agents/key', { json })).json
  expect((await server.ask('GET', path, { key: theirs })).json.error.code).toBe('build_not_found')
})

/** The bound of the kept requests of a project, in bytes. */
const bound = 32 * 2 ** 20

async function keptOf({ db }: Store, projectId: string) {
  const rows = await db
    .selectFrom('build_requests')
    .innerJoin('builds', 'builds.build_id', 'build_requests.build_id')
    .select(['builds.build_id', 'request_bytes'])
    .where('project_id', '=', projectId)
    .orderBy('seq')
    .execute()
  return { ids: rows.map(({ build_id }) => build_id), bytes: rows.reduce((sum, row) => sum + row.request_bytes, 0) }
}

test('a flood of builds never keeps more than the bound: the oldest of the project go first', async () => {
  const store = await openTestStore()
  const projects = ['p', 'other'].map((id) => ({ project_id: id, name: id, created_at: 1 }))
  await store.db.insertInto('projects').values(projects).execute()
  const request = CreateBuild.parse({ name: 'app', dockerfile: `FROM scratch\n#${'x'.repeat(250_000)}` })
  const keep = async (projectId: string) => {
    const buildId = await addBuild(store, { endedAt: 1, projectId })
    await store.change(aloneWith(projectId), (changes) =>
      keepRequest(changes, { projectId, buildId, request, redact: (text) => text }),
    )
    return buildId
  }
  const theirs = await keep('other')
  const ids: string[] = []
  for (let count = 0; count < 150; count += 1) {
    ids.push(await keep('p'))
    expect((await keptOf(store, 'p')).bytes).toBeLessThanOrEqual(bound)
  }
  const kept = await keptOf(store, 'p')
  expect(kept.ids).toEqual(ids.slice(-kept.ids.length))
  expect(kept.bytes).toBeGreaterThan(bound - 300_000)
  expect((await keptOf(store, 'other')).ids).toEqual([theirs])
})

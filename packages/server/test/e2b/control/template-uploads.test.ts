import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { dayMs } from '../../../src/foundation/time/day.ts'
import { startE2bServer } from '../../support/e2b-server.ts'
import {
  requestTemplate,
  startBuildServer,
  startTemplate,
  templateEnded,
  templateStatusOf,
  uploadFiles,
} from '../../support/e2b-templates.ts'
import { FakeBuilder, until } from '../../support/fake-builder.ts'
import { makeProject } from '../../support/own-project.ts'
import { tarOf } from '../../support/tar-of.ts'

const hourMs = 3600 * 1000

const filesBelow = (dir: string) =>
  readdirSync(dir, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())

test('an address that was used stays so when the service starts again', async () => {
  const server = await startBuildServer()
  const build = await requestTemplate(server)
  const { url, body } = await uploadFiles(server, build, { hash: 'h', files: { a: 'a' } })
  const fresh = (await server.e2b('GET', `/templates/${build.templateID}/files/h`)).json.url as string
  const again = await server.restart()
  const put = (address: string) => fetch(new URL(new URL(address).pathname, again.server.url), { method: 'PUT', body })
  const refused = await put(url)
  expect([refused.status, await refused.json()]).toMatchObject([403, { message: expect.stringContaining('used') }])
  expect((await put(fresh)).status).toBe(200)
  expect((await put(fresh)).status).toBe(403)
})

test('an upload that fails leaves its address valid, and of two at once one is taken', async () => {
  const server = await startBuildServer()
  const build = await requestTemplate(server)
  const { body } = await uploadFiles(server, build, { hash: 'h', files: { a: 'a' } })
  const { url } = (await server.e2b('GET', `/templates/${build.templateID}/files/other`)).json
  expect((await fetch(url, { method: 'PUT', body: 'no archive' })).status).toBe(400)
  const both = await Promise.all([1, 2].map(async () => (await fetch(url, { method: 'PUT', body })).status))
  expect(both.toSorted()).toEqual([200, 403])
})

test('an address expires after an hour, and a request after a day', async () => {
  let now = Date.now()
  const server = await startBuildServer({ now: () => now })
  const build = await requestTemplate(server)
  const { url } = (await server.e2b('GET', `/templates/${build.templateID}/files/h`)).json
  const put = async () => fetch(url, { method: 'PUT', body: gzipSync(await tarOf({ a: 'a' })) })
  now += hourMs + 1
  const late = await put()
  expect([late.status, await late.json()]).toMatchObject([403, { message: expect.stringContaining('expired') }])
  now -= 2
  expect((await put()).status).toBe(200)
  expect(await templateStatusOf(server, build)).toMatchObject({ status: 'waiting' })
  now += dayMs
  expect(await templateStatusOf(server, build)).toMatchObject({ code: 404 })
  expect((await startTemplate(server, build)).status).toBe(404)
})

test('the address of an upload ends with the key that asked for it', async () => {
  const server = await startBuildServer()
  const build = await requestTemplate(server)
  const { key, key_id } = await server.makeKey('template:write')
  const { json } = await server.e2b('GET', `/templates/${build.templateID}/files/h`, { key })
  expect((await server.ask('DELETE', `/v1/agents/key/${key_id}`)).status).toBe(204)
  const body = gzipSync(await tarOf({ a: 'a' }))
  const refused = await fetch(json.url, { method: 'PUT', body })
  expect([refused.status, await refused.json()]).toMatchObject([403, { message: expect.stringContaining('key') }])
  const again = await server.e2b('GET', `/templates/${build.templateID}/files/h`)
  expect(again.json.present).toBe(false)
})

test('a hash is a name in its project alone', async () => {
  const server = await startBuildServer()
  await uploadFiles(server, await requestTemplate(server), { hash: 'h', files: { a: 'a' } })
  const { key } = await makeProject(server, 'another')
  const { json: foreign } = await server.e2b('POST', '/v3/templates', { json: { name: 'app:v1' }, key })
  const files = await server.e2b('GET', `/templates/${foreign.templateID}/files/h`, { key })
  expect([files.status, files.json.present]).toEqual([201, false])
})

test('the address of an upload has the scheme of the service, also behind a proxy', async () => {
  const server = await startE2bServer(
    { HOLT_E2B_DOMAIN: 'e.test', HOLT_ISSUER: 'https://holt.test' },
    { builder: new FakeBuilder() },
  )
  const build = await requestTemplate(server)
  const address = async (host: string) => {
    const { json } = await server.e2b('GET', `/templates/${build.templateID}/files/h`, { host })
    return new URL(json.url).origin
  }
  expect(await address('holt.test')).toBe('https://holt.test')
  expect(await address('api.e.test:8443')).toBe('https://api.e.test:8443')
  expect(await address('localhost:1234')).toBe('http://localhost:1234')
})

test('a deleted project can upload no more, and its requests and uploads are removed', async () => {
  const server = await startBuildServer()
  const { key, projectId } = await makeProject(server, 'theirs')
  const theirs: typeof server = {
    ...server,
    e2b: (method, path, ask = {}) => server.e2b(method, path, { key, ...ask }),
  }
  const build = await requestTemplate(theirs)
  await uploadFiles(theirs, build, { hash: 'h', files: { a: 'a' } })
  const { url } = (await theirs.e2b('GET', `/templates/${build.templateID}/files/h`)).json
  const own = await requestTemplate(server)
  expect((await server.ask('DELETE', '/v1/agents/project/theirs')).status).toBe(204)
  expect((await fetch(url, { method: 'PUT', body: 'x' })).status).toBe(403)
  const dir = join(server.stateDir, 'builds')
  const left = () => filesBelow(dir).filter(({ parentPath }) => parentPath.includes(projectId))
  expect(left().length).toBeGreaterThan(0)
  // A start looks at once for what is old.
  await server.restart()
  await until(() => left().length === 0)
  expect(filesBelow(join(dir, 'requests')).length, own.buildID).toBe(1)
})

test('a start that the service did not survive is an error, not an endless wait', async () => {
  let now = Date.now()
  const server = await startBuildServer({ now: () => now })
  const build = await requestTemplate(server)
  const [file] = filesBelow(join(server.stateDir, 'builds', 'requests'))
  const path = join(file?.parentPath ?? '', file?.name ?? '')
  const requested = JSON.parse(readFileSync(path, 'utf8'))
  const started = { at: now, buildId: requested.buildId, origins: [], lines: [] }
  writeFileSync(path, JSON.stringify({ ...requested, started }))
  expect(await templateStatusOf(server, build)).toMatchObject({ status: 'waiting' })
  now += 61_000
  expect(await templateStatusOf(server, build)).toMatchObject({
    status: 'error',
    reason: { message: expect.stringContaining('Build again'), step: 'base' },
  })
  expect((await startTemplate(server, build)).status).toBe(202)
  expect((await templateEnded(server, build)).status).toBe('ready')
})

test('only a hundred builds of a project wait for their start', async () => {
  const server = await startBuildServer()
  const ask = () => server.e2b('POST', '/v3/templates', { json: { name: 'app' } })
  const statuses = await Promise.all(Array.from({ length: 102 }, async () => (await ask()).status))
  expect(statuses.toSorted()).toEqual([...Array.from({ length: 100 }, () => 202), 429, 429])
})

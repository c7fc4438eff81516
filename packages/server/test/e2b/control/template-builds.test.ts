import { createReadStream } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BuildError } from '@holt/builder'
import { buildUuid } from '@holt/e2b'
import { readTar } from '@holt/tar'
import { expect, test } from 'vitest'
import {
  templateEnded as ended,
  type Requested,
  requestTemplate as request,
  startBuildServer as setUp,
  startTemplate as start,
  templateStatusOf as status,
  uploadFiles,
} from '../../support/e2b-templates.ts'
import { until } from '../../support/fake-builder.ts'
import { fleetSize } from '../../support/other-entries.ts'
import { makeProject } from '../../support/own-project.ts'

test('a build waits for its start, and then makes a template that a create names', async () => {
  const server = await setUp()
  const build = await request(server, { name: 'app:v1', tags: ['stable'], cpuCount: 3, memoryMB: 511 })
  expect(build.buildID).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(await status(server, build)).toMatchObject({ status: 'waiting', logs: [], logEntries: [] })
  server.builder.script = async ({ host }) => {
    host.report.log({ level: 'info', step: null, message: 'one' })
    host.report.log({ level: 'warn', step: null, message: 'two' })
    return undefined
  }
  const started = await start(server, build, { steps: [{ type: 'RUN', args: ['true'] }] })
  expect([started.status, started.headers['content-length'], started.text]).toEqual([202, '0', ''])
  const done = await ended(server, build)
  expect(done).toMatchObject({ ...ids(build), status: 'ready', logs: [] })
  expect(done.logEntries.map((entry: { message: string }) => entry.message)).toEqual(['one', 'two'])
  expect((await status(server, build, '?logsOffset=1')).logEntries).toMatchObject([{ level: 'warn', message: 'two' }])
  expect((await status(server, build, '?logsOffset=2')).logEntries).toEqual([])
  expect((await status(server, build, '?level=warn')).logEntries).toMatchObject([{ level: 'warn', message: 'two' }])
  expect((await status(server, build, '?level=warn&logsOffset=1')).logEntries).toEqual([])
  for (const [name, found] of [
    ['app', 200],
    ['app:v1', 200],
    ['app:v2', 404],
    ['ap', 404],
  ] as const)
    expect([name, (await server.e2b('GET', `/templates/aliases/${encodeURIComponent(name)}`)).status]).toEqual([
      name,
      found,
    ])
  const tags = (await server.e2b('GET', '/templates/app/tags')).json as { tag: string }[]
  expect(tags.map(({ tag }) => tag).toSorted()).toEqual(['stable', 'v1'])
  expect((await server.e2b('GET', '/templates/app')).status).toBe(200)
  for (const name of ['app:v1', 'app:stable', build.templateID]) {
    const made = await server.e2b('POST', '/v2/sandboxes', { json: { templateID: name } })
    expect([name, made.status]).toEqual([name, 201])
  }
  const { json } = await server.e2b('GET', `/templates/${build.templateID}`)
  expect(json).toMatchObject({
    cpuCount: 3,
    memoryMB: 512,
    buildStatus: 'ready',
    buildID: build.buildID,
    buildCount: 1,
  })
  expect(json.builds).toMatchObject([{ buildID: build.buildID, status: 'ready' }])
  expect((await server.e2b('DELETE', '/templates/app')).status).toBe(204)
  expect((await server.e2b('GET', '/templates/aliases/app')).status).toBe(404)
})

test('a create names a template by the build that made it, and no other build', async () => {
  const server = await setUp()
  const create = ({ buildID }: Requested, name = 'app') =>
    server.e2b('POST', '/v2/sandboxes', { json: { templateID: `${name}:${buildID}` } })
  const refused = (build: Requested, name = 'app') => ({
    status: 404,
    json: { code: 404, message: `tag '${build.buildID}' does not exist for template '${name}'` },
  })
  const build = await request(server)
  expect(await create(build)).toMatchObject(refused(build))
  await start(server, build)
  await ended(server, build)
  const tags = (await server.e2b('GET', '/templates/app/tags')).json
  expect(tags).toMatchObject([{ tag: 'v1', buildID: build.buildID }])
  expect((await create(build)).status).toBe(201)
  expect(await create(build, 'other')).toMatchObject(refused(build, 'other'))

  const next = await request(server)
  await start(server, next, { steps: [{ type: 'RUN', args: ['true'] }] })
  await ended(server, next)
  expect((await create(next)).status).toBe(201)
  expect(await create(build)).toMatchObject(refused(build))
})

test('a template without the default tag is found by its name, but not created from', async () => {
  const server = await setUp()
  const build = await request(server)
  await start(server, build)
  await ended(server, build)
  const { templateID } = build
  expect(await server.e2b('GET', '/templates/aliases/app')).toMatchObject({ status: 200, json: { templateID } })
  expect((await server.e2b('GET', '/templates/app')).json).toMatchObject({ templateID, names: ['app:v1'] })
  expect((await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'app' } })).status).toBe(404)
  expect((await server.e2b('DELETE', '/templates/app')).status).toBe(204)
  expect((await server.e2b('GET', '/templates/aliases/app')).status).toBe(404)
})

test('to its clients, a template is one with all its tags, by its id and in lists', async () => {
  const server = await setUp()
  const builds: Requested[] = []
  for (const name of ['app:v1', 'app:v2', 'other:v1']) {
    const build = await request(server, { name })
    await start(server, build)
    await ended(server, build)
    builds.push(build)
  }
  const [first, second, other] = builds as [Requested, Requested, Requested]
  expect(second.templateID).toBe(first.templateID)
  expect(other.templateID).not.toBe(first.templateID)
  const { json: listed } = await server.e2b('GET', '/v2/templates')
  expect(listed).toMatchObject([
    { templateID: other.templateID, names: ['other:v1'], buildCount: 1 },
    { templateID: first.templateID, names: ['app:v1', 'app:v2'], aliases: ['app'], buildCount: 2 },
  ])
  const pages = []
  for (let next = ''; ; ) {
    const page = await server.e2b('GET', `/v2/templates?limit=1${next}`)
    pages.push(...page.json)
    if (page.headers['x-next-token'] === undefined) break
    next = `&nextToken=${page.headers['x-next-token']}`
  }
  expect(pages).toEqual(listed)
  const { json: one } = await server.e2b('GET', `/templates/${first.templateID}`)
  expect(one).toMatchObject({ templateID: first.templateID, buildCount: 2 })
  expect(one.builds).toHaveLength(2)
  for (const [templateID, buildID] of [
    [`${first.templateID}:v1`, first.buildID],
    // Without a default tag, an id means the newest.
    [first.templateID, second.buildID],
  ]) {
    const { json: made } = await server.e2b('POST', '/v2/sandboxes', { json: { templateID } })
    expect(made.templateID).toBe(first.templateID)
    const { json: held } = await server.ask('GET', `/v1/agents/runtime/${made.sandboxID}`)
    const { json: template } = await server.ask('GET', `/v1/agents/template/${held.template.template_id}`)
    expect(buildUuid(template.build_id)).toBe(buildID)
  }
  const nobody = await server.e2b('POST', '/v2/sandboxes', { json: { templateID: `${first.templateID}:v3` } })
  expect(nobody.status).toBe(404)
  expect((await server.e2b('DELETE', `/templates/${first.templateID}`)).status).toBe(204)
  expect((await server.e2b('GET', '/v2/templates')).json).toMatchObject([{ templateID: other.templateID }])
})

test('the log of a build is read from a moment, in both directions, by level', async () => {
  const server = await setUp()
  const build = await request(server)
  server.builder.script = async ({ host }) => {
    for (let line = 0; line < 250; line += 1) {
      if (line === 200) await new Promise((resolve) => setTimeout(resolve, 20))
      host.report.log({ level: line % 50 === 0 ? 'warn' : 'info', step: null, message: `line ${line}` })
    }
    return undefined
  }
  await start(server, build)
  await ended(server, build)
  const ask = (query: string) =>
    server.e2b('GET', `/templates/${build.templateID}/builds/${build.buildID}/logs${query}`)
  const logs = async (query = '') => (await ask(query)).json.logs
  const messages = async (query: string) => (await logs(query)).map(({ message }: { message: string }) => message)
  const lines = (from: number, step: number, count: number) =>
    Array.from({ length: count }, (_, index) => `line ${from + step * index}`)
  expect(await messages('')).toEqual(lines(0, 1, 100))
  expect(await messages('?limit=2')).toEqual(lines(0, 1, 2))
  expect(await messages('?direction=backward')).toEqual(lines(249, -1, 100))
  expect(await messages('?level=warn')).toEqual(lines(0, 50, 5))
  expect(await messages('?level=warn&direction=backward&limit=2&source=persistent')).toEqual(lines(200, -50, 2))
  const [late] = await logs('?level=warn&direction=backward&limit=1')
  const moment = Date.parse(late.timestamp)
  expect(await messages(`?cursor=${moment}`)).toEqual(lines(200, 1, 50))
  expect(await messages(`?cursor=${moment - 1}&direction=backward&limit=1`)).toEqual(['line 199'])
  for (const wrong of ['?limit=101', '?direction=up', '?level=loud', '?source=both', '?cursor=x'])
    expect([wrong, (await ask(wrong)).status]).toEqual([wrong, 400])
})

test('each build of a new name is of the same template, whatever became of the first', async () => {
  const server = await setUp()
  const first = await request(server)
  expect((await request(server)).templateID).toBe(first.templateID)
  let finish = () => {}
  server.builder.script = async () => {
    await new Promise<void>((resolve) => (finish = resolve))
    throw new BuildError('step_failed', 'no')
  }
  await start(server, first)
  const second = await request(server)
  expect(second.templateID).toBe(first.templateID)
  await until(async () => ((await status(server, first)).status === 'building' ? true : null))
  expect((await request(server)).templateID).toBe(first.templateID)
  finish()
  expect((await ended(server, first)).status).toBe('error')
  expect((await request(server)).templateID).toBe(first.templateID)
  expect((await request(server, { name: 'another:v1' })).templateID).not.toBe(first.templateID)
  server.builder.script = async () => undefined
  await start(server, second)
  expect((await ended(server, second)).status).toBe('ready')
  expect((await request(server)).templateID).toBe(first.templateID)
  expect((await server.e2b('DELETE', `/templates/${first.templateID}`)).status).toBe(204)
})

const ids = ({ templateID, buildID }: Requested) => ({ templateID, buildID })

test('uploads are found by their hash, and every copy reads its own', async () => {
  const server = await setUp()
  const build = await request(server)
  const { put } = await uploadFiles(server, build, { hash: 'hash1', files: { 'app/a.txt': 'a' } })
  await uploadFiles(server, build, { hash: 'hash2', files: { 'src/b.py': 'b', './src/c/d.py': 'd' } })
  expect((await put()).status).toBe(403)
  const again = await server.e2b('GET', `/templates/${build.templateID}/files/hash1`)
  expect([again.status, again.json]).toMatchObject([201, { present: true }])
  const names: string[] = []
  server.builder.script = async ({ request: { context } }) => {
    for await (const entry of readTar(createReadStream(context?.path ?? ''))) names.push(entry.path.toString())
    return undefined
  }
  const steps = [
    { type: 'COPY', args: ['app', '/app', '', ''], filesHash: 'hash1' },
    { type: 'COPY', args: ['src/*', '/src', 'root', '0755'], filesHash: 'hash2' },
  ]
  await start(server, build, { steps })
  expect((await ended(server, build)).status).toBe('ready')
  expect(names).toEqual(['0/app/a.txt', '1/src/b.py', '1/src/c/d.py'])
  const source = server.builder.runs[0]?.request.source
  expect(source?.type === 'image' && source.steps.filter((one) => 'copy' in one)).toEqual([
    { copy: { source: '0/app', destination: '/app', chown: 'user:user' } },
    { copy: { source: '1/src', destination: '/src', chown: 'root:root', chmod: '0755' } },
  ])
})

test('an upload needs a valid address, and files that are missing fail the start', async () => {
  const server = await setUp()
  const build = await request(server)
  const { url } = await uploadFiles(server, build, { hash: 'hash1', files: { a: 'a' } })
  const forged = (change: (path: string) => string) =>
    fetch(new URL(change(new URL(url).pathname), url), { method: 'PUT', body: 'x' })
  expect((await forged((path) => `${path}x`)).status).toBe(403)
  expect((await forged((path) => path.replace('/e2b-uploads/', '/e2b-uploads/x'))).status).toBe(403)
  expect((await forged(() => '/e2b-uploads/')).status).toBe(403)
  expect((await fetch(url)).status).toBe(405)
  const steps = [{ type: 'COPY', args: ['a', '/a', '', ''], filesHash: 'other' }]
  expect((await start(server, build, { steps })).status).toBe(404)
  expect((await start(server, build)).status).toBe(202)
  expect((await start(server, build)).status).toBe(409)
  expect((await server.e2b('GET', '/templates/tm00000000000000000000/files/hash1')).status).toBe(404)
})

test('equal builds at once are one build and one template, and every client sees its end', async () => {
  const server = await setUp()
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  server.builder.script = async () => void (await released)
  const [one, other] = [await request(server), await request(server, { name: 'app:v1', tags: ['more'] })]
  expect(other.templateID).toBe(one.templateID)
  expect(other.buildID).not.toBe(one.buildID)
  for (const build of [one, other]) expect((await start(server, build)).status).toBe(202)
  for (const build of [one, other]) expect((await start(server, build)).status).toBe(409)
  expect((await status(server, other)).status).toBe('building')
  release()
  for (const build of [one, other]) expect(await ended(server, build)).toMatchObject({ ...ids(build), status: 'ready' })
  expect(server.builder.runs).toHaveLength(1)
  const made = await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'app:more' } })
  expect(made.status).toBe(201)
})

test('further tags count for the quotas of the project', async () => {
  const server = await setUp()
  const { key, projectId } = await makeProject(server, 'small', { template_bytes: 300 })
  const theirs: typeof server = {
    ...server,
    e2b: (method, path, ask = {}) => server.e2b(method, path, { key, ...ask }),
  }
  const build = await request(theirs)
  await start(theirs, build)
  expect((await ended(theirs, build)).status, projectId).toBe('ready')
  const assign = (tag: string) => theirs.e2b('POST', '/templates/tags', { json: { target: 'app:v1', tags: [tag] } })
  expect((await assign('two')).status).toBe(201)
  expect((await assign('three')).status).toBe(429)
  expect((await assign('two')).status).toBe(201)
})

test('of two starts at the same time one counts', async () => {
  const server = await setUp()
  const build = await request(server)
  const steps = (line: string) => ({ steps: [{ type: 'RUN', args: [line] }] })
  const answers = await Promise.all([start(server, build, steps('one')), start(server, build, steps('two'))])
  expect(answers.map(({ status }) => status).sort()).toEqual([202, 409])
  expect((await ended(server, build)).status).toBe('ready')
})

// The records of a fleet are rows.
test.skipIf(fleetSize > 1)('a damaged record of a build disturbs no other one', async () => {
  const server = await setUp()
  const build = await request(server)
  const dir = join(server.stateDir, 'builds/requests')
  const [project = ''] = await readdir(dir)
  await writeFile(join(dir, project, 'tm00000000000000000000.bd00000000000000000000.json'), '{')
  const other = await request(server)
  expect((await start(server, other)).status).toBe(202)
  expect((await ended(server, other)).status).toBe('ready')
  expect(await status(server, build)).toMatchObject({ status: 'waiting' })
})

test('builds and files of another project are not found', async () => {
  const server = await setUp()
  const build = await request(server)
  const { key } = await makeProject(server, 'another')
  const { templateID, buildID } = build
  const ask = async (method: string, path: string, json?: object) => {
    const body = JSON.stringify(json ?? {})
    const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }
    return (await server.e2b(method, path, { key, ...(json === undefined ? {} : { body, headers }) })).status
  }
  const path = `/templates/${templateID}`
  const statuses = async () => [
    await ask('GET', `${path}/files/hash1`),
    await ask('GET', `${path}/builds/${buildID}/status`),
    await ask('GET', `${path}/builds/${buildID}/logs`),
    await ask('POST', `/v2${path}/builds/${buildID}`, { fromImage: 'debian:12' }),
  ]
  expect(await statuses()).toEqual([404, 404, 404, 404])
  expect((await start(server, build)).status).toBe(202)
  expect((await ended(server, build)).status).toBe('ready')
  expect(await statuses()).toEqual([404, 404, 404, 404])
  expect(await ask('GET', path)).toBe(404)
  expect(await ask('GET', `${path}/tags`)).toBe(404)
  expect(await ask('POST', '/templates/tags', { target: 'app:v1', tags: ['mine'] })).toBe(404)
  expect(await ask('DELETE', '/templates/tags', { name: 'app', tags: ['v1'] })).toBe(404)
  expect(await ask('DELETE', path)).toBe(404)
})

test('a repeated start with the same Idempotency-Key has the same empty answer', async () => {
  const server = await setUp()
  const { templateID, buildID } = await request(server)
  const headers = { 'idempotency-key': 'start' }
  for (const replayed of [undefined, 'true']) {
    const json = { fromImage: 'debian:12' }
    const answer = await server.e2b('POST', `/v2/templates/${templateID}/builds/${buildID}`, { headers, json })
    expect([answer.status, answer.headers['content-length'], answer.text]).toEqual([202, '0', ''])
    expect(answer.headers['idempotent-replayed']).toBe(replayed)
  }
})

test('a failure names the step and the line of the client', async () => {
  const server = await setUp()
  const build = await request(server)
  server.builder.script = async ({ request: { source }, host }) => {
    const steps = source.type === 'image' ? source.steps : []
    const from = { step: 1, text: 'FROM', stage: null, line: 1, state: 'done' as const, duration_ms: 0 }
    host.report.steps([from, ...steps.map((_, index) => ({ ...from, step: index + 2, line: index + 1 }))])
    const details = { exit_code: 3, signal: null, output: 'not found' }
    throw new BuildError('step_failed', 'RUN exec ... exited with 3.', { step: steps.length + 1, details })
  }
  const steps = [
    { type: 'ENV', args: ['A', '1'] },
    { type: 'RUN', args: ['pip install nothing'] },
  ]
  await start(server, build, { steps })
  expect(await ended(server, build)).toMatchObject({
    status: 'error',
    reason: { step: '2', message: "failed to run command 'pip install nothing': exit status 3\nnot found" },
  })
})

test('commands run in a login shell, with a time to get ready', async () => {
  const server = await setUp()
  const run = async (json: object) => {
    const build = await request(server, { name: 'app' })
    await start(server, build, json)
    await ended(server, build)
    return server.builder.runs.at(-1)?.request
  }
  expect(await run({ startCmd: 'serve' })).toMatchObject({
    startCmd: "exec /bin/bash -l -c 'serve'",
    readyCmd: "exec /bin/bash -l -c 'sleep 20'",
  })
  expect(await run({ startCmd: 'serve', readyCmd: 'ready' })).toMatchObject({
    readyCmd: "exec /bin/bash -l -c 'ready'",
  })
  const waits = await run({ readyCmd: 'ready', force: true })
  expect(waits).toMatchObject({ startCmd: null, readyCmd: null, noCache: true })
  expect(waits?.source.type === 'image' && waits.source.steps.at(-1)).toMatchObject({
    run: expect.stringContaining('(ready\n)'),
  })
  expect((await run({ fromImage: undefined, fromTemplate: 'base' }))?.source.type).toBe('template')
  expect((await run({ fromImage: 'e2bdev/base:latest' }))?.source.type).toBe('template')
  const login = { type: 'registry', username: 'ada', password: 'secret' }
  expect((await run({ fromImageRegistry: login }))?.registryAuth).toMatchObject({ username: 'ada', password: 'secret' })
})

test('tags are assigned, listed and removed', async () => {
  const server = await setUp()
  const { e2b } = server
  const build = await request(server, { name: 'my_app' })
  await start(server, build)
  await ended(server, build)
  const assigned = await e2b('POST', '/templates/tags', { json: { target: 'my_app', tags: ['v1', 'v2'] } })
  expect([assigned.status, assigned.json]).toEqual([201, { tags: ['v1', 'v2'], buildID: build.buildID }])
  const tags = async () => (await e2b('GET', '/templates/my_app/tags')).json.map(({ tag }: { tag: string }) => tag)
  expect(await tags()).toEqual(['default', 'v1', 'v2'])
  expect((await e2b('GET', '/templates/aliases/my_app%3Av1')).status).toBe(200)
  const removed = JSON.stringify({ name: 'my_app', tags: ['v1'] })
  const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(removed)) }
  expect((await e2b('DELETE', '/templates/tags', { body: removed, headers })).status).toBe(204)
  expect(await tags()).toEqual(['default', 'v2'])
  const list = await e2b('GET', '/v2/templates?limit=1')
  expect([list.json.length, list.headers['x-next-token']]).toEqual([1, undefined])
  expect(list.json).toMatchObject([{ templateID: build.templateID, names: { length: 2 } }])
  expect((await e2b('PATCH', `/v2/templates/${build.templateID}`, { json: { public: true } })).status).toBe(400)
  expect((await e2b('DELETE', `/templates/${build.templateID}`)).status).toBe(204)
  expect((await e2b('GET', '/templates/my_app/tags')).status).toBe(404)
})

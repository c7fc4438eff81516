import { BuildLogItem } from '@holt/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { bytesInUse } from '../../../async/test/support/pieces.ts'
import { BuildLogs, keptOfBuild } from '../../src/builds/build-log.ts'
import { findBuild } from '../../src/builds/find-build.ts'
import type { Store } from '../../src/foundation/store/open-store.ts'
import { ended, FakeBuilder, type FakeRun, until } from '../support/fake-builder.ts'
import { keepingLog, startTestServer, type TestServer } from '../support/start-test-server.ts'
import { openTestStore } from '../support/test-store.ts'

const builds = '/v1/agents/template/build'

async function setUp() {
  const builder = new FakeBuilder()
  const server = await startTestServer({ builder })
  const start = async () => {
    const json = { name: 'app', dockerfile: 'FROM scratch' }
    return (await server.ask('POST', builds, { json })).json.build_id as string
  }
  return { ...server, builder, start }
}

async function read({ ask }: Pick<TestServer, 'ask'>, id: string, query = ''): Promise<BuildLogItem[]> {
  const { text } = await ask('GET', `${builds}/${id}/logs${query}`)
  return text
    .trim()
    .split('\n')
    .flatMap((line) => (line === '' ? [] : BuildLogItem.parse(JSON.parse(line))))
}

const say = ({ host }: FakeRun, message: string) => host.report.log({ level: 'info', step: 1, message })

test('lines are replayed from the start and after a cursor, and end with the status', async () => {
  const server = await setUp()
  server.builder.script = async (run) => {
    say(run, 'one')
    say(run, 'two\nthree\n')
    run.host.report.log({ level: 'error', step: null, message: 'four' })
    return undefined
  }
  const id = await server.start()
  await ended(server, id)
  const items = await read(server, id)
  expect(items).toMatchObject([
    { type: 'log', cursor: 1, level: 'info', step: 1, message: 'one' },
    { type: 'log', cursor: 2, message: 'two' },
    { type: 'log', cursor: 3, message: 'three' },
    { type: 'log', cursor: 4, level: 'error', step: null, message: 'four' },
    { type: 'end', cursor: 4, status: 'ready' },
  ])
  expect(await read(server, id, '?cursor=2')).toEqual(items.slice(2))
  expect(await read(server, id, '?cursor=4&follow=true')).toEqual(items.slice(4))
  expect(await read(server, id, '?cursor=99')).toMatchObject([{ type: 'end' }])
})

test('a follower gets lines as they are written, and other readers get the stored lines', async () => {
  const server = await setUp()
  const { promise: go, resolve } = Promise.withResolvers<void>()
  server.builder.script = async (run) => {
    say(run, 'one')
    await go
    say(run, 'two')
    return undefined
  }
  const id = await server.start()
  await until(async () => (await read(server, id)).length === 1)
  const response = await fetch(`${server.server.url}${builds}/${id}/logs?follow=true`, {
    headers: { authorization: `Bearer ${server.server.adminKey}`, accept: 'text/event-stream' },
  })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const readUntil = async (word: string) => {
    while (!text.includes(word)) {
      const { value, done } = (await reader?.read()) ?? { done: true }
      if (done) break
      text += value
    }
  }
  await readUntil('"one"')
  expect(text).toContain('event: log\nid: 1\n')
  expect(text).not.toContain('event: end')
  resolve()
  await readUntil('event: end')
  expect(text).toContain('"two"')
  expect(text).toContain('"status":"ready"')
})

test('a log that drops lines in a flood says so and keeps the newest lines', async () => {
  const server = await setUp()
  const lines = keptOfBuild.lines + 5000
  const started = Promise.withResolvers<string>()
  const said = Promise.withResolvers<void>()
  server.builder.script = async (run) => {
    for (let line = 1; line <= lines; line += 1) {
      say(run, `line ${line}`)
      // A read of the log writes it first.
      if (line % 2000 === 0) await read(server, await started.promise, `?cursor=${line}`)
    }
    said.resolve()
    return undefined
  }
  const id = await server.start()
  started.resolve(id)
  await said.promise
  await ended(server, id)
  const items = await read(server, id)
  const [gap, first] = items
  expect(gap).toMatchObject({ type: 'gap', lost: 5000, cursor: 5000 })
  expect(first).toMatchObject({ type: 'log', cursor: 5001, message: 'line 5001' })
  expect(items.at(-2)).toMatchObject({ message: `line ${lines}` })
  expect(items).toHaveLength(keptOfBuild.lines + 2)
}, 180_000)

test('a flood that is faster than the database drops its oldest lines, and says so', async () => {
  const server = await setUp()
  server.builder.script = async (run) => {
    for (let line = 1; line <= 30_000; line += 1) say(run, `line ${line}`)
    return undefined
  }
  const id = await server.start()
  await ended(server, id)
  const items = await read(server, id)
  expect(items[0]).toMatchObject({ type: 'gap' })
  expect(items.at(-2)).toMatchObject({ type: 'log', cursor: 30_000, message: 'line 30000' })
  const lost = items.reduce((sum, item) => sum + (item.type === 'gap' ? item.lost : 0), 0)
  expect(lost + items.filter(({ type }) => type === 'log').length).toBe(30_000)
})

test('large lines are cut, and the total stays within its limit', async () => {
  const server = await setUp()
  server.builder.script = async (run) => {
    for (let line = 1; line <= 700; line += 1) say(run, 'x'.repeat(100_000))
    return undefined
  }
  const id = await server.start()
  await ended(server, id)
  const items = await read(server, id)
  expect(items[0]).toMatchObject({ type: 'gap' })
  const messages = items.flatMap((item) => (item.type === 'log' ? [item.message] : []))
  expect(messages[0]).toMatch(/^x{16384}\.\.\. \(cut\)$/)
  expect(messages.join('').length).toBeLessThanOrEqual(keptOfBuild.bytes)
  expect(messages.length).toBeGreaterThan(400)
})

test('large lines that cannot be written use at most twice the kept size of a log', async () => {
  const written = Promise.withResolvers<void>()
  const store = { change: () => written.promise } as unknown as Store
  const logs = new BuildLogs(store, keepingLog().log)
  const flood = () => {
    for (let line = 1; line <= 5000; line += 1)
      logs.write('b', { at: '', level: 'info', step: 1, message: `${line} `.padEnd(16_000, 'x') })
  }
  const before = await bytesInUse()
  flood()
  const flushed = logs.flush()
  await new Promise((resolve) => setImmediate(resolve)) // It is tried from here on.
  flood()
  expect((await bytesInUse()) - before).toBeLessThan(3 * keptOfBuild.bytes)
  written.resolve()
  await flushed
})

test.each([1, 3])('lines that the store refuses %i times are written afterwards, in their order', async (refusals) => {
  const server = await setUp()
  server.builder.script = async () => undefined
  const buildId = await server.start()
  await ended(server, buildId)
  const { project_id: projectId } = (await server.ask('GET', '/v1/agents/whoami')).json.project
  await server.close()
  const store = await openTestStore(server.stateDir)
  onTestFinished(() => store.close())
  let changes = 0
  const change: Store['change'] = async (alone, work) => {
    changes += 1
    if (changes > refusals) return store.change(alone, work)
    logs.write(buildId, { at: '', level: 'info', step: 1, message: `after refusal ${changes}` })
    throw new Error('refused')
  }
  const logs = new BuildLogs({ db: store.db, change } as Store, keepingLog().log)
  logs.write(buildId, { at: '', level: 'info', step: 1, message: 'first' })
  await logs.flush()
  await logs.flush()
  const lines = await logs.read({ projectId, buildId }, { after: 0, limit: 10 })
  const later = Array.from({ length: refusals }, (_, at) => [at + 2, `after refusal ${at + 1}`])
  expect(lines.map(({ cursor, line }) => [cursor, line.message])).toEqual([[1, 'first'], ...later])
  expect((await findBuild(store.db, { projectId, buildId })).log_cursor).toBe(refusals + 1)
})

test('a reader that stops reading does not slow the build', async () => {
  const server = await setUp()
  server.builder.script = async (run) => {
    for (let line = 1; line <= 3000; line += 1) say(run, 'x'.repeat(1000))
    return undefined
  }
  const id = await server.start()
  const response = await fetch(`${server.server.url}${builds}/${id}/logs?follow=true`, {
    headers: { authorization: `Bearer ${server.server.adminKey}` },
  })
  expect((await ended(server, id)).status).toBe('ready')
  await response.body?.cancel()
})

test('lines can contain any text', async () => {
  const server = await setUp()
  server.builder.script = async (run) => {
    say(run, '\0\ud800\u202e{"type":"end"}\r\n\r\n')
    return undefined
  }
  const id = await server.start()
  await ended(server, id)
  expect(await read(server, id)).toMatchObject([
    { message: '\0\ufffd\u202e{"type":"end"}' },
    { message: '' },
    { type: 'end' },
  ])
})

test('only the project of a build can read its lines', async () => {
  const server = await setUp()
  server.builder.script = async (run) => {
    say(run, 'one')
    return undefined
  }
  const buildId = await server.start()
  await ended(server, buildId)
  const { project_id: projectId } = (await server.ask('GET', '/v1/agents/whoami')).json.project
  await server.close()
  const store = await openTestStore(server.stateDir)
  onTestFinished(() => store.close())
  const logs = new BuildLogs(store, keepingLog().log)
  const readFor = (id: string) => logs.read({ projectId: id, buildId }, { after: 0, limit: 10 })
  expect(await readFor(projectId)).toMatchObject([{ cursor: 1, line: { message: 'one' } }])
  expect(await readFor('another')).toEqual([])
})

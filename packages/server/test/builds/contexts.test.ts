import { createHash } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import type { ServerConfig } from '../../src/foundation/config/config.ts'
import { dayMs } from '../../src/foundation/time/day.ts'
import { ended, FakeBuilder, until } from '../support/fake-builder.ts'
import { startTestServer } from '../support/start-test-server.ts'
import { tarOf } from '../support/tar-of.ts'

const path = '/v1/agents/template/context'

async function setUp(options: Parameters<typeof startTestServer>[0] = {}) {
  const builder = new FakeBuilder()
  const server = await startTestServer({ builder, ...options })
  const upload = (body: Uint8Array) => server.ask('POST', path, { body })
  const files = () => readdirSync(join(server.stateDir, 'builds', 'contexts'))
  return { ...server, builder, upload, files }
}

test('equal bytes are stored as one context', async () => {
  const { upload, files } = await setUp()
  const tar = await tarOf({ a: 'one', 'b/c': 'two' })
  const first = await upload(tar)
  expect([first.status, first.json]).toMatchObject([
    201,
    { sha256: createHash('sha256').update(tar).digest('hex'), size_bytes: tar.length, entries: 2 },
  ])
  expect((await upload(tar)).json.context_id).toBe(first.json.context_id)
  expect((await upload(await tarOf({ a: 'other' }))).json.context_id).not.toBe(first.json.context_id)
  expect(files()).toHaveLength(2)
})

test('concurrent uploads of equal bytes are one context', async () => {
  const { upload, files } = await setUp()
  const tar = await tarOf({ a: 'one' })
  const ids = await Promise.all(Array.from({ length: 8 }, async () => (await upload(tar)).json.context_id))
  expect(new Set(ids).size).toBe(1)
  expect(files()).toEqual([`${ids[0]}.tar`])
})

test('a compressed context is unpacked', async () => {
  const { upload, stateDir } = await setUp()
  const tar = await tarOf({ a: 'one' })
  const { json } = await upload(gzipSync(tar))
  const stored = join(stateDir, 'builds', 'contexts', `${json.context_id}.tar`)
  const { readFile } = await import('node:fs/promises')
  expect((await readFile(stored)).equals(tar)).toBe(true)
  expect(json.size_bytes).toBe(gzipSync(tar).length)
})

test.each([
  ['a plain', (tar: Buffer) => tar],
  ['a packed', (tar: Buffer) => gzipSync(tar)],
])('an upload that stalls after the first byte of %s blocks nobody, and completes later', async (_, pack) => {
  const { ask } = await setUp()
  const packed = pack(await tarOf({ a: 'one' }))
  const { promise: served, resolve } = Promise.withResolvers<void>()
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(packed.subarray(0, 1)),
    pull: async (controller) => {
      await served
      controller.enqueue(packed.subarray(1))
      controller.close()
    },
  })
  const storing = ask('POST', path, { body })
  for (let count = 0; count < 20; count += 1) expect((await ask('GET', '/readyz')).status).toBe(200)
  resolve()
  expect(await storing).toMatchObject({ status: 201, json: { entries: 1, size_bytes: packed.length } })
})

test('a context of one byte is refused', async () => {
  const { upload, files } = await setUp()
  expect((await upload(Buffer.from('x'))).json.error.code).toBe('invalid_archive')
  expect(files()).toEqual([])
})

const brokenGzip = Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9])

test.each([
  ['nothing of an archive', Buffer.from('this is no tar, and far too short'.repeat(40))],
  ['half an archive', 'half'],
  ['a broken gzip', brokenGzip],
  ['a broken gzip of which most has not come yet', Buffer.concat([brokenGzip, Buffer.alloc(8 * 2 ** 20)])],
] as const)('%s is refused and leaves nothing', async (_, body) => {
  const { upload, files } = await setUp()
  const tar = await tarOf({ a: 'x'.repeat(5000) })
  const answer = await upload(body === 'half' ? tar.subarray(0, 2000) : body)
  expect([answer.status, answer.json.error.code]).toEqual([400, 'invalid_archive'])
  expect(files()).toEqual([])
})

test.each([{}, { 'idempotency-key': 'once' }])(
  'after a refused upload, its connection continues: %j',
  async (headers) => {
    const { server } = await setUp()
    const body = Buffer.concat([brokenGzip, Buffer.alloc(512 * 1024)])
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    onTestFinished(() => agent.destroy())
    const statusOf = (method: string, to: string, more: object, sent?: Buffer) =>
      new Promise<number | undefined>((resolve, reject) => {
        const outgoing = request(server.url + to, {
          method,
          agent,
          timeout: 20_000,
          headers: { authorization: `Bearer ${server.adminKey}`, ...more },
        })
        outgoing.once('error', reject).once('timeout', () => outgoing.destroy(new Error('no answer')))
        outgoing.once('response', (answer) => answer.resume().once('end', () => resolve(answer.statusCode)))
        outgoing.end(sent)
      })
    expect(await statusOf('POST', path, { ...headers, 'content-length': body.length }, body)).toBe(400)
    expect(await statusOf('GET', '/healthz', {})).toBe(200)
  },
  60_000,
)

test('any upload is either an archive or refused', async () => {
  const { upload, files } = await setUp()
  const tar = await tarOf({ a: 'one', b: 'two' })
  const changed = fc
    .tuple(fc.nat(tar.length - 1), fc.nat(255))
    .map(([at, byte]) => Buffer.concat([tar.subarray(0, at), Buffer.from([byte]), tar.subarray(at + 1)]))
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.uint8Array({ maxLength: 3000 }), changed), async (body) => {
      const answer = await upload(body)
      expect([201, 400]).toContain(answer.status)
    }),
    { numRuns: 60 },
  )
  expect(files().filter((name) => !name.endsWith('.tar'))).toEqual([])
}, 60_000)

test('an upload whose client disconnects is not stored', async () => {
  const server = await setUp()
  const tar = await tarOf({ a: 'x'.repeat(100_000) })
  const stop = new AbortController()
  const body = new ReadableStream<Uint8Array>({
    start: (stream) => stream.enqueue(tar.subarray(0, 50_000)),
  })
  const sent = server.ask('POST', path, { body, signal: stop.signal }).catch(() => null)
  const dir = join(server.stateDir, 'builds', 'contexts')
  await until(() => existsSync(dir) && server.files().length === 1)
  stop.abort()
  await sent
  await until(() => server.files().length === 0)
})

test('a project keeps at most two hundred contexts', async () => {
  let now = Date.now()
  const { upload, files } = await setUp({ now: () => (now += 1) })
  const ids: string[] = []
  for (let count = 0; count < 203; count += 1)
    ids.push((await upload(await tarOf({ a: String(count) }))).json.context_id)
  expect(files().toSorted()).toEqual(
    ids
      .slice(3)
      .map((id) => `${id}.tar`)
      .toSorted(),
  )
})

test('a project keeps as many bytes as HOLT_BUILD_CONTEXTS_SIZE, and contexts of builds first', async () => {
  let now = Date.now()
  const mib = 2 ** 20
  const server = await setUp({
    now: () => (now += 1),
    config: { buildContextsBytes: 2.5 * mib } as ServerConfig,
  })
  const tar = (name: string) => tarOf({ [name]: name.repeat(mib) })
  const { promise: go, resolve } = Promise.withResolvers<void>()
  server.builder.script = () => go.then(() => undefined)
  const { context_id } = (await server.upload(await tar('a'))).json
  const build = { name: 'app', dockerfile: 'FROM x', context_id }
  await server.ask('POST', '/v1/agents/template/build', { json: build })
  await until(() => server.builder.runs.length === 1)
  const later: string[] = []
  for (const name of ['b', 'c']) later.push((await server.upload(await tar(name))).json.context_id)
  expect(server.files().toSorted()).toEqual([`${context_id}.tar`, `${later[1]}.tar`].toSorted())
  const refused = await server.upload(await tarOf({ d: 'd'.repeat(2 * mib) }))
  expect([refused.status, refused.json.error.code]).toEqual([429, 'quota_exceeded'])
  expect(server.files()).toHaveLength(2)
  resolve()
})

test('concurrent uploads share a limit and release it', async () => {
  const server = await setUp({ config: { buildContextsBytes: 2 ** 20 } as ServerConfig })
  const half = Buffer.from(await tarOf({ a: 'a'.repeat(600_000) }))
  const stop = new AbortController()
  const body = new ReadableStream<Uint8Array>({ start: (stream) => stream.enqueue(half.subarray(0, 590_000)) })
  const sent = server.ask('POST', path, { body, signal: stop.signal }).catch(() => null)
  const dir = join(server.stateDir, 'builds', 'contexts')
  await until(() => existsSync(dir) && server.files().some((name) => statSync(join(dir, name)).size > 500_000))
  const refused = await server.upload(half)
  expect([refused.status, refused.json.error.code]).toEqual([429, 'rate_limited'])
  stop.abort()
  await sent
  await until(() => server.files().length === 0)
  expect((await server.upload(half)).status).toBe(201)
})

test('an unused context is removed after a day, and the context of a queued build stays', async () => {
  let now = Date.now()
  const server = await setUp({ now: () => now })
  const idle = (await server.upload(await tarOf({ a: 'one' }))).json
  const used = (await server.upload(await tarOf({ a: 'two' }))).json
  expect(Date.parse(idle.expires_at) - now).toBe(dayMs)
  const { promise: go, resolve } = Promise.withResolvers<void>()
  server.builder.script = () => go.then(() => undefined)
  const json = { name: 'app', dockerfile: 'FROM x', context_id: used.context_id }
  const { build_id } = (await server.ask('POST', '/v1/agents/template/build', { json })).json
  await until(() => server.builder.runs.length === 1)
  now += dayMs + 1
  const again = await server.restart()
  // A start looks at once; the build of before has failed by now, so both would be old but for when
  // they were used.
  await until(() => !server.files().includes(`${idle.context_id}.tar`))
  const refused = await again.ask('POST', '/v1/agents/template/build', {
    json: { ...json, context_id: idle.context_id },
  })
  expect(refused.json.error.code).toBe('context_not_found')
  resolve()
  expect(build_id).toMatch(/^bd/)
})

test('the context of a build exists until the build uses it', async () => {
  const server = await setUp()
  const { context_id } = (await server.upload(await tarOf({ a: 'one' }))).json
  server.builder.script = async ({ request }) => {
    expect(existsSync(request.context?.path ?? '')).toBe(true)
    return undefined
  }
  const json = { name: 'app', dockerfile: 'FROM x', context_id }
  const { build_id } = (await server.ask('POST', '/v1/agents/template/build', { json })).json
  expect((await ended(server, build_id)).status).toBe('ready')
})

/**
 * Resolves when a handler of this process has begun: a client that leaves before that is no client
 * of a route.
 */
function nextHandler(): Promise<void> {
  const channel = 'tracing:fastify.request.handler:start'
  return new Promise((resolve) => {
    const begun = () => {
      unsubscribe(channel, begun)
      resolve()
    }
    subscribe(channel, begun)
  })
}

test.each([0, 1, 70_000])(
  'clients that disconnect after %i bytes of an upload cause no failure and leave nothing',
  async (bytes) => {
    const { server, ask, logged, files } = await setUp()
    const count = 20
    for (let n = 0; n < count; n += 1) {
      const headers = { authorization: `Bearer ${server.adminKey}`, 'content-length': 2 ** 20 }
      const upload = request(server.url + path, { method: 'POST', headers })
      upload.on('error', () => {}) // It hangs up.
      const begun = nextHandler()
      upload.flushHeaders()
      upload.write(Buffer.alloc(bytes))
      await begun
      await sleep(n) // Before and after it is written.
      upload.destroy()
    }
    const gone = new RegExp(`^holt_http_requests_total\\{method="POST",route="${path}",status="499"\\} ${count}$`, 'm')
    await until(async () => gone.test((await ask('GET', '/metrics')).text))
    await until(() => files().length === 0)
    expect(logged).toEqual([])
  },
)

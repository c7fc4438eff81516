import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { makeId, type Route, type RouteName, routes } from '@holt/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { attach, TestAttachment } from '../../support/attach.ts'
import { giveBridge } from '../../support/fake-bridge.ts'
import { FakeBuilder } from '../../support/fake-builder.ts'
import { type PortServer, startPortServer } from '../../support/port-visitor.ts'
import { stallSearches } from '../../support/stall-searches.ts'

/** A size that no slow reader takes within a test. */
const manyBytes = 64 * 2 ** 20

/** Answers that are there at once, though not as JSON. */
const atOnce: readonly RouteName[] = ['metrics', 'docs']

/** Every route whose answer or body goes on for as long as the client follows. */
const followed = (Object.entries<Route>(routes) as [RouteName, Route][])
  .filter(([name, { answers, body }]) => !atOnce.includes(name) && (body.type === 'bytes' || isFollowed(answers)))
  .map(([name]) => name)

function isFollowed(answers: Route['answers']): boolean {
  return Object.values(answers).some(
    (answer) => answer.type !== 'none' && (answer.type !== 'json' || answer.stream !== undefined),
  )
}

/**
 * How something is opened that goes on: the request, or what to attach to. Paths are below the
 * API's own.
 */
interface Opening {
  readonly method?: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly json?: object
  /** True where the body begins and does not end. */
  readonly isUpload?: boolean
  readonly upgrade?: 'tcp' | 'websocket'
  /** Sent instead of the key. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Everything that can be followed: each route, and the ways to a port, which are no routes. */
async function openings(server: PortServer, buildId: string): Promise<Readonly<Record<string, Opening>>> {
  const runtime = `/v1/agents/runtime/${server.id}`
  const json = { command: 'sleep', background: true }
  const command = `${runtime}/commands/${(await server.ask('POST', `${runtime}/commands`, { json })).json.command_id}`
  const interpreter = giveBridge(server.engine, server.id)
  const runId = makeId('code_run')
  interpreter.start({ run_id: runId, code: 'wait', language: 'javascript' })
  const { context_id } = interpreter.create()
  const code = { code: 'wait', timeout_secs: 0 }
  return {
    runCode: { method: 'POST', path: `${runtime}/contexts/run`, json: code },
    runCodeInContext: { method: 'POST', path: `${runtime}/contexts/${context_id}/run`, json: code },
    readCodeRun: { path: `${runtime}/contexts/runs/${runId}` },
    startCommand: { method: 'POST', path: `${runtime}/commands`, json: { command: 'sleep', timeout_secs: 0 } },
    readOutput: { path: `${command}/output?follow=true` },
    attachCommand: { path: `${command}/attach`, upgrade: 'websocket' },
    readFile: { path: `${runtime}/files/content?path=/tmp/large` },
    writeFile: { method: 'PUT', path: `${runtime}/files/content?path=/tmp/endless`, isUpload: true },
    searchFiles: { method: 'POST', path: `${runtime}/files/search`, json: { path: '/tmp' } },
    readArchive: { path: `${runtime}/files/archive?path=/tmp` },
    writeArchive: { method: 'PUT', path: `${runtime}/files/archive?path=/tmp/endless-tree`, isUpload: true },
    watchFiles: { path: `${runtime}/files/watch?path=/tmp` },
    readBuildLogs: { path: `/v1/agents/template/build/${buildId}/logs?follow=true` },
    uploadContext: { method: 'POST', path: '/v1/agents/template/context', isUpload: true },
    readNetworkLog: { path: `${runtime}/network/log?follow=true` },
    listEvents: { path: '/v1/agents/event?follow=true' },
    listHostEvents: { path: '/v1/agents/host/event?follow=true' },
    readRuntimeEvents: { path: `${runtime}/events?follow=true` },
    'a visit to a port': { path: `${server.port(3000)}/proxy/` },
    'an upload to a port': { method: 'PUT', path: `${server.port(3000)}/proxy/`, isUpload: true },
    'a raw connection to a port': { path: `${server.port(3001)}/tcp`, upgrade: 'tcp' },
  }
}

/**
 * Starts a runtime with a large file, an endless search, and endless programs on two ports. Starts
 * an endless build too.
 */
async function start(options: Parameters<typeof startPortServer>[0] = {}) {
  const builder = new FakeBuilder()
  builder.script = ({ signal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const server = await startPortServer({ builder, ...options })
  const guest = server.engine.guest(server.id)
  if (guest === null) throw new Error('there is no guest')
  guest.files.nodes.set('/tmp/large', { type: 'file', mode: '0644', data: Buffer.alloc(manyBytes, 'x') })
  stallSearches(guest)
  server.program(3000, (_incoming, response) => void response.writeHead(200).write('begun'))
  guest.ports.listen(3001, (connection) => void connection.write('begun'))
  const json = { name: 'endless', dockerfile: 'FROM scratch' }
  const { build_id } = (await server.ask('POST', '/v1/agents/template/build', { json })).json
  return { server, ways: await openings(server, build_id) }
}

/** The fate of an open stream: the service has cut it, or ended it as if it were complete. */
type Ended = 'cut' | 'finished'

/** Opens something with a key, and follows it. Throws where it is not let in. */
async function follow(server: PortServer, opening: Opening, key: string): Promise<{ readonly ended: Promise<Ended> }> {
  const { method = 'GET', path, json, isUpload = false, upgrade, headers } = opening
  const authorization = { authorization: `Bearer ${key}` }
  if (upgrade === 'websocket') {
    const attachment = await attach(`${server.server.url}${path}`, { key })
    if (!(attachment instanceof TestAttachment)) throw new Error(`${path}: ${JSON.stringify(attachment)}`)
    return { ended: attachment.closed.then(({ code }) => (code === 4401 ? 'cut' : 'finished')) }
  }
  const outgoing = request(`${server.server.url}${path}`, {
    method,
    agent: false,
    headers: {
      accept: 'application/x-ndjson',
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...(upgrade === undefined ? {} : { connection: 'upgrade', upgrade }),
      ...(headers ?? authorization),
    },
  })
  onTestFinished(() => void outgoing.destroy())
  const broken = new Promise<Ended>((resolve) => outgoing.once('error', () => resolve('cut')))
  if (isUpload) outgoing.write('begun')
  else outgoing.end(json === undefined ? undefined : JSON.stringify(json))
  if (upgrade === 'tcp') {
    const [, socket] = await once(outgoing, 'upgrade')
    socket.on('error', () => {}).resume()
    return { ended: new Promise((resolve) => socket.once('close', () => resolve('cut'))) }
  }
  if (isUpload && !path.includes('/proxy/')) {
    const answered = new Promise<Ended>((resolve) => outgoing.once('response', () => resolve('finished')))
    return { ended: Promise.race([broken, answered]) }
  }
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
  if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode}`)
  return { ended: readSlowly(answer) }
}

/**
 * Takes an answer a piece at a time, so that a large one is under way for as long as a test may
 * take.
 */
function readSlowly(answer: IncomingMessage): Promise<Ended> {
  answer.on('error', () => {}) // It is cut: that is what is looked for.
  answer.on('data', () => {
    answer.pause()
    setTimeout(() => answer.resume(), 50).unref()
  })
  return new Promise((resolve) => answer.once('close', () => resolve(answer.complete ? 'finished' : 'cut')))
}

test('every streaming route has an example here', async () => {
  const { ways } = await start()
  expect(
    Object.keys(ways)
      .filter((name) => name in routes)
      .toSorted(),
  ).toEqual(followed.toSorted())
})

const keys = '/v1/agents/key'

/** The key that ends, and a function that sets the clock to a time after the start. */
interface Ending {
  readonly ask: PortServer['ask']
  readonly keyId: string
  readonly skipTo: (ms: number) => void
}

test.each<[string, (of: Ending) => unknown]>([
  ['is revoked', ({ ask, keyId }) => ask('DELETE', `${keys}/${keyId}`)],
  ['is rotated', ({ ask, keyId }) => ask('POST', `${keys}/${keyId}/rotate`, { json: { overlap_secs: 0 } })],
  ['expires', ({ skipTo }) => skipTo(61_000)],
])('streams of a key that %s are cut, and no others', async (_, endKey) => {
  const begunAt = Date.now()
  let now = begunAt
  const skipTo = (ms: number) => {
    now = begunAt + ms
  }
  const { server, ways } = await start({ now: () => now })
  const makeKey = async () => {
    const json = { name: 'short', scopes: ['admin', 'operator'], expires_at: new Date(now + 60_000).toISOString() }
    return (await server.ask('POST', keys, { json })).json
  }
  const ended: Record<string, Ended | null> = {}
  const keyIds: string[] = []
  for (const [name, opening] of Object.entries(ways)) {
    const { key, key_id } = await makeKey()
    const stream = await follow(server, opening, key)
    // An upload is let in when its key has been looked at.
    await expect.poll(async () => (await server.ask('GET', `${keys}/${key_id}`)).json.last_used_at).not.toBeNull()
    ended[name] = null
    void stream.ended.then((how) => {
      ended[name] = how
    })
    keyIds.push(key_id)
  }
  const stays = await follow(server, { path: '/v1/agents/event?follow=true' }, server.server.adminKey)
  let staysEnded = false
  void stays.ended.then(() => {
    staysEnded = true
  })
  expect(ended).toEqual(Object.fromEntries(Object.keys(ways).map((name) => [name, null])))
  for (const keyId of keyIds) await endKey({ ask: server.ask, keyId, skipTo })
  await expect.poll(() => ended).toEqual(Object.fromEntries(Object.keys(ways).map((name) => [name, 'cut'])))
  expect(staysEnded).toBe(false)
})

test('a request with a token is closed when the key of the token is revoked', async () => {
  const { server } = await start()
  const { key, key_id } = await server.makeKey('runtime:read', 'runtime:write')
  const { token } = (await server.ask('GET', server.port(3000), { key })).json
  const opening = { path: `${server.port(3000)}/proxy/`, headers: { 'x-holt-port-token': token } }
  const { ended } = await follow(server, opening, key)
  await server.ask('DELETE', `${keys}/${key_id}`)
  expect(await ended).toBe('cut')
})

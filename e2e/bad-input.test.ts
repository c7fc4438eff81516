import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { Key, pageOf, type Route, type RouteName, Runtime, routes } from '@holt/protocol'
import { byLength } from '@holt/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type Answer,
  anyFailure,
  type CallOptions,
  call,
  failure,
  pointersOf,
  runtimesPath,
  success,
  wireRequest,
} from './support/api.ts'
import { anyText, queryOf, valuesOf } from './support/arbitraries.ts'
import { service } from './support/facts.ts'
import { daemonMemory, daemonPid } from './support/host.ts'
import { open } from './support/http.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'

/** A whole request and what it is answered with takes milliseconds; this is a hang. */
const ANSWER_TIMEOUT_MS = 25_000

let runtime: TestRuntime
let ended: TestRuntime
let pid: number
beforeAll(async () => {
  pid = daemonPid()
  runtime = await createRuntime()
  ended = await createRuntime()
  await ended.delete()
  await runtime.sh('cd /srv; echo a > a; mkdir -p dir/sub; ln -sf a link; mkfifo fifo; chown -R user /srv')
})
afterAll(async () => {
  const { data } = success(await call('GET', '/v1/agents/key', { query: { limit: 100 } }), 200, pageOf(Key))
  for (const { key_id, scopes, name } of data) {
    if (!scopes.includes('admin') || name === 'fuzzed') await call('DELETE', `/v1/agents/key/${key_id}`)
  }
  expect(daemonPid()).toBe(pid)
})

describe('a body', () => {
  it.each([
    ['is no JSON', '{"template":', 'invalid_request'],
    ['is empty', '', 'invalid_request'],
    ['has NUL', '\0', 'invalid_request'],
    ['is not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'invalid_request'],
    ['is nested without end', '['.repeat(200_000), 'invalid_request'],
    ['is nested deep', `${'{"env":'.repeat(5_000)}1${'}'.repeat(5_000)}`, 'invalid_request'],
    ['sets a prototype', '{"__proto__": {"template": "x"}}', 'invalid_request'],
    ['is larger than any may be', `{"name": "${'x'.repeat(5 * 2 ** 20)}"}`, 'too_large'],
  ] as const)('that %s is refused', async (_, body, code) => {
    failure(await call('POST', runtimesPath, { body, headers: { 'content-type': 'application/json' } }), code)
  })

  it('of an unsupported media type answers 415', async () => {
    failure(
      await call('POST', runtimesPath, {
        body: 'a=b',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      }),
      'unsupported_media_type',
    )
    failure(
      await call('POST', runtimesPath, { body: '{}', headers: { 'content-type': 'application/json; charset=utf-16' } }),
      'unsupported_media_type',
    )
  })

  it('with many wrong fields gets an error that names each of them', async () => {
    const longKey = 'k'.repeat(129)
    const json = {
      template: 5,
      cpu: 'x',
      env: [],
      metadata: { [longKey]: 'x', ok: 1 },
      timeout_secs: 1.5,
      on_timeout: 'never',
      a: 1,
      b: 2,
    }
    const error = failure(await call('POST', runtimesPath, { json }), 'invalid_request')
    expect(pointersOf(error)).toEqual(
      [
        '/a',
        '/b',
        '/cpu',
        '/env',
        `/metadata/${longKey}`,
        '/metadata/ok',
        '/on_timeout',
        '/template',
        '/timeout_secs',
      ].sort(),
    )
  })
})

describe('input that is not valid HTTP', () => {
  const lines = (...text: string[]) => `${text.join('\r\n')}\r\n\r\n`
  const host = 'Host: x'
  const key = `Authorization: Bearer ${service.key}`
  it.each([
    ['garbage', '\x16\x03\x01\x02\0\x01\0\x01\xfc'],
    ['no host', lines('GET /healthz HTTP/1.1')],
    ['an unknown method', lines('BREW /v1/agents/runtime HTTP/1.1', host, key)],
    ['a CONNECT', lines('CONNECT 169.254.169.254:80 HTTP/1.1', host, key)],
    [
      'an upgrade',
      lines(
        'GET /v1/agents/runtime HTTP/1.1',
        host,
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: x',
      ),
    ],
    [
      'an upgrade to HTTP/2',
      lines(
        'GET / HTTP/1.1',
        host,
        'Connection: Upgrade, HTTP2-Settings',
        'Upgrade: h2c',
        'HTTP2-Settings: AAMAAABkAAQAAP__',
      ),
    ],
    [
      'an unmet expectation',
      `${lines('POST /v1/agents/runtime HTTP/1.1', host, 'Expect: 418-teapot', 'Content-Length: 2')}{}`,
    ],
    [
      'a body without a key that waits to be asked for',
      lines(
        'POST /v1/agents/runtime HTTP/1.1',
        host,
        'Expect: 100-continue',
        'Content-Type: application/json',
        'Content-Length: 2',
      ),
    ],
    [
      'two lengths',
      `${lines('POST /v1/agents/runtime HTTP/1.1', host, key, 'Content-Length: 2', 'Content-Length: 3')}{}x`,
    ],
    [
      'a length and chunks',
      lines('POST /v1/agents/runtime HTTP/1.1', host, key, 'Content-Length: 2', 'Transfer-Encoding: chunked') +
        '0\r\n\r\n',
    ],
    [
      'a broken chunk',
      `${lines(
        'POST /v1/agents/runtime HTTP/1.1',
        host,
        key,
        'Content-Type: application/json',
        'Transfer-Encoding: chunked',
      )}zz\r\n`,
    ],
    ['headers without end', `GET /healthz HTTP/1.1\r\n${host}\r\nX: ${'y'.repeat(100_000)}\r\n\r\n`],
    [
      'ten thousand headers',
      lines('GET /healthz HTTP/1.1', host, ...Array.from({ length: 10_000 }, (_, n) => `X-${n}: y`)),
    ],
    ['an absolute target', lines('GET http://169.254.169.254/latest HTTP/1.1', host, key)],
    ['a target with bytes', 'GET /v1/agents/runtime/\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a target that is too long', lines(`GET /${'a'.repeat(50_000)} HTTP/1.1`, host)],
  ])('%s gets a plain refusal or none', async (_, bytes) => {
    const text = (await exchange(Buffer.from(bytes, 'latin1'))).replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '')
    expect(text).not.toMatch(/^HTTP\/1\.1 (?:1|2|500)/)
    expect(text).not.toContain(service.stateDir)
    expect(text).not.toContain('node:')
    expect((await call('GET', '/healthz', { key: null })).status).toBe(200)
  })

  it('a thousand silent connections do not block other clients for long', async () => {
    const sockets = Array.from({ length: 1_000 }, () => connect(service.port, '127.0.0.1').on('error', () => undefined))
    try {
      // Over the limit of connections the service closes some; asking again is what any client
      // does.
      await expect
        .poll(async () => (await call('GET', '/healthz', { key: null, timeoutMs: 5_000 }).catch(() => null))?.status, {
          timeout: 30_000,
        })
        .toBe(200)
    } finally {
      for (const socket of sockets) socket.destroy()
    }
  })
})

/**
 * Requests of each route. The service's own tests send as many over the fake engine in every run.
 */
const numRuns = byLength({ short: 10, long: 60, soak: 60 })

describe('requests generated from the API description', () => {
  /**
   * The routes that would take away what the others are tried on, or make what costs seconds, are
   * tried on their own.
   */
  const apart: readonly RouteName[] = ['createRuntime', 'deleteRuntime']
  const names = (Object.keys(routes) as RouteName[]).filter((name) => !apart.includes(name))

  it.each(names)('%s never answers 500, for any input', async (name) => {
    await fc.assert(
      fc.asyncProperty(requestOf(routes[name]), async (request) => {
        await check(routes[name], request)
      }),
      { numRuns, timeout: 2 * ANSWER_TIMEOUT_MS },
    )
    expect(daemonPid()).toBe(pid)
  })

  it('deleteRuntime never answers 500 for a missing runtime', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, async (id) => {
        const answer = await call('DELETE', `${runtimesPath}/${encoded(id)}`)
        anyFailure(answer)
      }),
      { numRuns },
    )
  })

  it('createRuntime never answers 500, and its runtimes work', async () => {
    await fc.assert(
      fc.asyncProperty(requestOf(routes.createRuntime), async (request) => {
        const answer = await check(routes.createRuntime, request)
        if (answer.status !== 201) return
        const made = success(answer, 201, Runtime)
        expect((await call('DELETE', `${runtimesPath}/${made.runtime_id}`)).status).toBe(204)
      }),
      { numRuns, timeout: 2 * ANSWER_TIMEOUT_MS },
    )
    expect(daemonPid()).toBe(pid)
  })

  it('leave the memory of the service small', () => {
    expect(daemonMemory().nowMiB).toBeLessThan(600)
  })
})

interface FuzzedRequest {
  readonly params: readonly string[]
  readonly query: string
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
}

function requestOf(route: Route): fc.Arbitrary<FuzzedRequest> {
  const id = fc.oneof(
    { weight: 8, arbitrary: fc.constant('here') },
    { weight: 1, arbitrary: fc.constant('ended') },
    { weight: 1, arbitrary: anyText },
  )
  const headerValue = fc.constantFrom(
    '*',
    'bytes=0-1',
    'bytes=-',
    'bytes=5-1',
    'bytes=0-1,3-4',
    'bytes=99999999999999999999-',
    'text/event-stream',
    'x/y;q=',
    '',
    '"',
    'x'.repeat(2_000),
  )
  return fc.record({
    params: fc.array(id, { minLength: 2, maxLength: 2 }),
    query: route.query === undefined ? fc.constantFrom('', '', '', 'x=1') : queryOf(route.query),
    body: route.body.type === 'json' ? valuesOf(route.body.schema) : fc.constantFrom('', 'some bytes'),
    headers: fc.dictionary(
      fc.constantFrom('range', 'if-none-match', 'accept', 'idempotency-key', 'x-request-id'),
      headerValue,
      { maxKeys: 2 },
    ),
  })
}

/**
 * Sends a request and holds the answer against the contract: a success of the route's own, or an
 * error of the catalogue.
 */
async function check(route: Route, { params, query, body, headers }: FuzzedRequest): Promise<Answer> {
  const ids = new Map([
    ['here', runtime.id],
    ['ended', ended.id],
  ])
  let index = 0
  const path = route.path.replaceAll(/\{\w+\}/g, () => {
    const value = params[index++] ?? ''
    return encoded(ids.get(value) ?? value)
  })
  const ask = endless.includes(route) ? begin : call
  const answer = await ask(route.method, query === '' ? path : `${path}?${endingQuery(route, query)}`, {
    ...(route.body.type === 'json' ? { json: inBounds(body) } : {}),
    ...(route.body.type === 'bytes' ? { body: String(body) } : {}),
    headers,
    timeoutMs: ANSWER_TIMEOUT_MS,
  })
  if (answer.status >= 400) {
    if (route.path !== '/readyz') expect(anyFailure(answer).code, answer.text).not.toBe('internal')
    return answer
  }
  await removeMade(route, answer)
  const expected = route.answers[answer.status]
  expect(expected, `${route.method} ${route.path} answered ${answer.status}`).toBeDefined()
  if (expected?.type === 'json' && String(answer.headers['content-type']).startsWith('application/json'))
    expected.schema.parse(JSON.parse(answer.text))
  return answer
}

/** Routes whose answers have no end, or one that is far away. */
const endless: readonly Route[] = [routes.watchFiles, routes.readArchive, routes.listEvents, routes.readRuntimeEvents]

/** Calls the service and answers how a stream begins, or a whole page or failure. */
async function begin(method: string, path: string, options: CallOptions): Promise<Answer> {
  const message = await open(service.url, wireRequest(method, path, options))
  const status = message.statusCode ?? 0
  const isWhole = message.headers['content-type']?.startsWith('application/json') === true
  const bytes = isWhole ? await buffer(message) : Buffer.alloc(0)
  message.destroy()
  return { status, headers: message.headers, bytes, text: bytes.toString() }
}

/** The log of a runtime that runs on has no end to wait for. */
function endingQuery({ path }: Route, query: string): string {
  return path.endsWith('/network/log') ? query.replaceAll(/\bfollow=(?:true|1)\b/g, 'follow=false') : query
}

/** Removes what a request has stored beside runtimes. */
async function removeMade({ path }: Route, { status, text }: Answer): Promise<void> {
  if (status !== 201) return
  const made = JSON.parse(text) as Readonly<Record<string, string>>
  const id = made.policy_id ?? made.secret_id ?? made.provider_id
  if (id !== undefined) await call('DELETE', `${path}/${id}`)
}

/**
 * Keeps a request from costing minutes: commands get a short time, keys a name by which they are
 * found again.
 */
function inBounds(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body
  if ('command' in body || 'argv' in body) return { ...body, timeout_secs: 1 }
  if ('scopes' in body && 'name' in body && typeof body.name === 'string') return { ...body, name: 'fuzzed' }
  return body
}

/** Returns a text as a path segment. Lone surrogates, which have no encoding, become U+FFFD. */
function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed()) || '%20'
}

/**
 * Sends bytes over a connection of their own and reads what comes until the service closes it or is
 * silent.
 */
async function exchange(bytes: Buffer): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let text = ''
  const socket = connect(service.port, '127.0.0.1')
  socket.setTimeout(2_000, () => socket.destroy())
  socket.on('data', (chunk) => (text += chunk.toString('latin1')))
  socket.on('error', () => undefined) // A reset is a refusal too.
  socket.on('close', () => resolve(text))
  socket.end(bytes)
  return promise
}

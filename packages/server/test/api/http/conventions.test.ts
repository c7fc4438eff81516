import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { connectionLimits } from '../../../src/foundation/config/connection-limits.ts'
import { startTestServer } from '../../support/start-test-server.ts'

const runtimes = '/v1/agents/runtime'

/** Sends bytes as they are and answers everything that comes back. */
async function raw(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(bytes)
  return text(socket)
}

describe('a body', () => {
  test.each([
    ['{"a":', 400, 'invalid_request'],
    ['', 400, 'invalid_request'],
    ['[]', 400, 'invalid_request'],
    ['null', 400, 'invalid_request'],
    ['"text"', 400, 'invalid_request'],
    [`${'['.repeat(100_000)}${']'.repeat(100_000)}`, 400, 'invalid_request'],
    ['{"__proto__": {"template": "x"}}', 400, 'invalid_request'],
    ['{"env": {"__proto__": "x"}}', 400, 'invalid_request'],
    ['{"constructor": 1}', 400, 'invalid_request'],
    [`{"name": "${'x'.repeat(4 * 1024 * 1024)}"}`, 413, 'too_large'],
  ])('%.30s is %i %s', async (body, status, code) => {
    const { ask } = await startTestServer()
    const answer = await ask('POST', runtimes, { body, headers: { 'content-type': 'application/json' } })
    expect([answer.status, answer.json.error.code]).toEqual([status, code])
  })

  test('that is not UTF-8 is refused', async () => {
    const { ask } = await startTestServer()
    const body = Buffer.from('7b226e616d65223a22ff227d', 'hex')
    expect((await ask('POST', runtimes, { body, headers: { 'content-type': 'application/json' } })).status).toBe(400)
  })

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=latin1',
    'nonsense',
    'application/jsonx',
  ])('of the type %s answers 415', async (type) => {
    const { ask } = await startTestServer()
    const answer = await ask('POST', runtimes, { body: '{}', headers: { 'content-type': type } })
    expect([answer.status, answer.json.error.code]).toEqual([415, 'unsupported_media_type'])
  })

  test.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"'])(
    'of the type %s is accepted',
    async (type) => {
      const { ask } = await startTestServer()
      expect((await ask('POST', runtimes, { body: '{}', headers: { 'content-type': type } })).status).toBe(201)
    },
  )

  test('that never ends is cut off at the size limit', async () => {
    const { ask } = await startTestServer()
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(65_536).fill(32)),
    })
    const answer = await ask('POST', runtimes, { body, headers: { 'content-type': 'application/json' } }).catch(
      (error: Error) => error,
    )
    expect(answer instanceof Error || answer.status === 413).toBe(true)
    expect((await ask('GET', '/healthz')).status).toBe(200)
  })
})

test('every wrong field of body and query is named in one answer', async () => {
  const { ask } = await startTestServer()
  const { json } = await ask('POST', runtimes, {
    json: {
      name: 'NOT OK',
      cpu: 'many',
      memory: '1 banana',
      env: { '1A': 'x', OK: 'a\0b' },
      colour: 'red',
      on_timeout: 'sleep',
    },
  })
  expect(json.error.code).toBe('invalid_request')
  const pointers = json.error.details.issues.map(({ pointer }: { pointer: string }) => pointer)
  expect(pointers.sort()).toEqual(['/colour', '/cpu', '/env/1A', '/env/OK', '/memory', '/name', '/on_timeout'])
})

test('a check across fields is reported together with other wrong fields', async () => {
  const { ask, makeRuntime } = await startTestServer()
  const { json } = await ask('POST', `${runtimes}/${await makeRuntime()}/commands`, {
    json: { command: 'a', argv: ['b'], cwd: 5, colour: true },
  })
  expect(json.error.details.issues).toEqual([
    { pointer: '/cwd', message: 'must be a string' },
    { pointer: '/colour', message: 'is not a known field' },
    { pointer: '/command', message: 'give exactly one of command and argv' },
  ])
})

test.each([
  [{}, '/source', 'is required: a string'],
  [{ source: 5 }, '/source', 'must be a string'],
  [{ source: null }, '/source', 'must be a string'],
  [null, '', 'must be an object'],
])('of the copy %j, the answer says that %s %s', async (body, pointer, message) => {
  const { ask, makeRuntime } = await startTestServer()
  const { json } = await ask('POST', `${runtimes}/${await makeRuntime()}/files/copy`, { json: body })
  expect(json.error.details.issues).toContainEqual({ pointer, message })
})

test.each([
  ['runtime', { cpu: 0.01 }, '/cpu', 'must be at least 0.1'],
  ['runtime', { cpu: 1000 }, '/cpu', 'must be at most 256'],
  ['runtime', { cpu: 1.00001 }, '/cpu', 'must be a multiple of 0.001'],
  ['runtime', { timeout_secs: 1.5 }, '/timeout_secs', 'must be a whole number'],
  ['runtime', { secrets: Array(33).fill('a') }, '/secrets', 'must have at most 32 items'],
  ['key', { name: '', scopes: ['admin'] }, '/name', 'must not be empty'],
  ['key', { name: 'a'.repeat(101), scopes: ['admin'] }, '/name', 'must have at most 100 characters'],
  [
    'key',
    { name: 'a', scopes: ['admin'], expires_at: 'x' },
    '/expires_at',
    'must be a time such as 2030-01-01T12:00:00Z',
  ],
  ['project', { name: 'a', quotas: { requests_per_sec: 0 } }, '/quotas/requests_per_sec', 'must be more than 0'],
])('of the %s %j, the answer says that %s %s', async (kind, body, pointer, message) => {
  const { ask } = await startTestServer()
  const { json } = await ask('POST', `/v1/agents/${kind}`, { json: body })
  expect(json.error.details.issues).toEqual([{ pointer, message }])
})

const signalWords = 'must be the name of a signal: SIGTERM, say, or SIGRTMIN+1'
const limitWords = 'must be a whole number, 0 or more, "unlimited", or {soft, hard} of those'

test.each([
  [
    'project',
    { name: 'a', quotas: { memory_mib: '64GiB' } },
    '/quotas/memory_mib',
    'must be a number or null or default',
  ],
  ['runtime', { network_policy: 5 }, '/network_policy', 'must be a string or an object'],
])('of the %s %j, the answer lists all forms of %s: %s', async (kind, body, pointer, message) => {
  const { ask } = await startTestServer()
  const { json } = await ask('POST', `/v1/agents/${kind}`, { json: body })
  expect(json.error.details.issues).toEqual([{ pointer, message }])
})

test.each([
  ['commands', { command: 'a', rlimits: { nofile: [64, 64] } }, '/rlimits/nofile', limitWords],
  [
    'commands',
    { command: 'a', rlimits: { nofile: { soft: 'x' } } },
    '/rlimits/nofile/soft',
    'must be a whole number, 0 or more, or "unlimited"',
  ],
  ['commands/cm1/signal', { signal: 'TERM' }, '/signal', signalWords],
  ['commands/cm1/signal', { signal: 15 }, '/signal', signalWords],
])('of %s %j, the answer says in the words of the schema that %s %s', async (path, body, pointer, message) => {
  const { ask, makeRuntime } = await startTestServer()
  const { json } = await ask('POST', `${runtimes}/${await makeRuntime()}/${path}`, { json: body })
  expect(json.error.details.issues).toEqual([{ pointer, message }])
})

test('every wrong field of a list is named in one answer', async () => {
  const { ask } = await startTestServer()
  const { json } = await ask('GET', `${runtimes}?limit=0&state=asleep&colour=red&metadata.=x`)
  const pointers = json.error.details.issues.map(({ pointer }: { pointer: string }) => pointer)
  expect(pointers.sort()).toEqual(['/query/colour', '/query/limit', '/query/metadata.', '/query/state'])
})

test.each([
  ['relative', 'invalid_path'],
  ['/a/../b', 'invalid_path'],
  ['/a%00b', 'invalid_path'],
  [`/${'x/'.repeat(3000)}`, 'invalid_path'],
  [`/${'x'.repeat(256)}`, 'invalid_path'],
])('the path %.20s is %s', async (path, code) => {
  const { ask, makeRuntime } = await startTestServer()
  const { status, json } = await ask('GET', `${runtimes}/${await makeRuntime()}/files/stat?path=${path}`)
  expect([status, json.error.code, json.error.details.issues[0].pointer]).toEqual([400, code, '/query/path'])
})

test.each([
  ['key', { name: 'a\0b' }, '/name'],
  ['key', { name: 'a', project: 'a\0b' }, '/project'],
  ['key', { name: 'a\ud800' }, '/name'],
  ['webhook', { url: 'https://hooks.example.com/\0' }, '/url'],
  ['webhook', { url: 'https://hooks.example.com', description: 'a\0b' }, '/description'],
  ['runtime', { snapshot: 'a\0b' }, '/snapshot'],
  ['template/build', { name: 'a', from_template: 'a\0b' }, '/from_template'],
])('a %s of %j has text that some stores cannot keep', async (kind, body, pointer) => {
  const { ask } = await startTestServer()
  const { status, json } = await ask('POST', `/v1/agents/${kind}`, { json: body })
  const message = 'must be well-formed text without NUL'
  expect([status, json.error.details.issues]).toEqual([400, [{ pointer, message }]])
})

test.each([
  'event?subject',
  'audit?key_id',
  'audit?route',
  'audit?subject',
  'runtime?name',
  'snapshot?name',
  'key?project',
])('a request with NUL in %s makes no query to the store', async (query) => {
  const { ask } = await startTestServer()
  expect((await ask('GET', `/v1/agents/${query}=a%00b`)).json.error.code).toBe('invalid_request')
})

test('a path parameter cannot contain NUL', async () => {
  const { ask } = await startTestServer()
  for (const kind of ['project', 'snapshot', 'template', 'runtime', 'key', 'webhook']) {
    const { json } = await ask('GET', `/v1/agents/${kind}/a%00b`)
    expect(json.error.code).toBe(`${kind}_not_found`)
  }
})

test('a wrong path with another wrong field is an invalid request', async () => {
  const { ask, makeRuntime } = await startTestServer()
  const { json } = await ask('POST', `${runtimes}/${await makeRuntime()}/files/copy`, {
    json: { source: 'a', destination: '/b', recursive: 'yes' },
  })
  expect(json.error.code).toBe('invalid_request')
  expect(json.error.details.issues).toHaveLength(2)
})

test.each([
  ['GET', '/', 404, 'route_not_found'],
  ['GET', '/v2/agents/runtime', 404, 'route_not_found'],
  ['GET', '/v1/agents/runtime/', 404, 'runtime_not_found'],
  ['PUT', runtimes, 405, 'method_not_allowed'],
  ['DELETE', '/healthz', 405, 'method_not_allowed'],
  ['POST', '/openapi.json', 405, 'method_not_allowed'],
  ['OPTIONS', runtimes, 405, 'method_not_allowed'],
  ['DELETE', '/docs', 405, 'method_not_allowed'],
  ['GET', '/v1/agents/runtime/%zz', 400, 'invalid_request'],
])('%s %s is %i %s', async (method, path, status, code) => {
  const { ask } = await startTestServer()
  const answer = await ask(method, path)
  expect([answer.status, answer.json.error.code]).toEqual([status, code])
  if (status === 405) expect(answer.headers.get('allow')).toMatch(/^[A-Z, ]+$/)
})

test('the request id of the client is used if it is valid', async () => {
  const { ask } = await startTestServer()
  const idOf = async (given: string) =>
    (await ask('GET', '/healthz', { headers: { 'x-request-id': given } })).headers.get('x-request-id')
  expect(await idOf('mine')).toBe('mine')
  expect(await idOf('not mine')).toMatch(/^rq[a-z0-9]{20}$/)
})

describe('a connection', () => {
  test.each([
    ['not HTTP', 'hello\r\n\r\n', /^HTTP\/1\.1 400 .*"invalid_request"/s],
    [
      'headers without end',
      `GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`,
      /^HTTP\/1\.1 413 .*"too_large"/s,
    ],
    [
      'CONNECT',
      'CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1:22\r\n\r\n',
      /^HTTP\/1\.1 405 .*"method_not_allowed"/s,
    ],
    [
      'a length twice',
      'POST /v1/agents/runtime HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 4\r\n\r\n{}',
      /^HTTP\/1\.1 400 /,
    ],
    [
      'a length and chunks',
      'POST /v1/agents/runtime HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      /^HTTP\/1\.1 400 /,
    ],
    [
      'an unknown expectation',
      'GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: magic\r\nConnection: close\r\n\r\n',
      /^HTTP\/1\.1 417 /,
    ],
  ])('with %s is refused', async (_name, bytes, answer) => {
    const { server, ask } = await startTestServer()
    expect(await raw(server.url, bytes)).toMatch(answer)
    expect((await ask('GET', '/healthz')).status).toBe(200)
  })

  test('that asks for an upgrade is an ordinary request and needs a key', async () => {
    const { server } = await startTestServer()
    const answer = await raw(
      server.url,
      `GET ${runtimes} HTTP/1.1\r\nHost: x\r\nConnection: upgrade, close\r\nUpgrade: websocket\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 401 /)
  })

  test('that expects 100-continue still needs a key', async () => {
    const { server } = await startTestServer()
    const answer = await raw(
      server.url,
      `POST ${runtimes} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
    )
    expect(answer).toMatch(/HTTP\/1\.1 401 /)
  })

  test('that does not finish its headers in time is closed', async () => {
    const { server } = await startTestServer({ limits: { ...connectionLimits, headersTimeoutMs: 300 } })
    expect(await raw(server.url, 'GET /healthz HTTP/1.1\r\nHost: x\r\n')).toMatch(/^HTTP\/1\.1 4\d\d |^$/)
  })

  test('above the limit replaces a connection that has sent nothing', async () => {
    const { server, ask } = await startTestServer({ limits: { ...connectionLimits, maxConnections: 1 } })
    const { hostname, port } = new URL(server.url)
    const first = connect(Number(port), hostname)
    const closed = new Promise((resolve) => first.once('close', resolve))
    await new Promise((resolve) => first.once('connect', resolve))
    await expect.poll(async () => (await ask('GET', '/healthz').catch(() => null))?.status).toBe(200)
    first.on('error', () => {}).resume()
    await closed
  })
})

import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { givenRequestId } from '../../../src/api/telemetry/observe-requests.ts'
import { makeLog } from '../../../src/daemon/machine/make-log.ts'
import { runFor } from '../../../src/foundation/request/request-context.ts'
import { FakeBuilder } from '../../support/fake-builder.ts'
import { startTestServer } from '../../support/start-test-server.ts'

const path = '/v1/agents/runtime'

/** A log at its most talkative that keeps its lines. */
function talkative() {
  const lines: string[] = []
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(...String(chunk).trimEnd().split('\n'))
      done()
    },
  })
  return { log: makeLog({ logLevel: 'trace' }, destination), lines }
}

test('a request logs one line at its end, and every line of it has its id', async () => {
  const { log, lines } = talkative()
  const { ask, makeRuntime, engine } = await startTestServer({ log })
  const id = await makeRuntime()
  engine.end(id, { reason: 'crashed', message: 'a test' })
  const failed = await ask('GET', `${path}/${id}/files/stat?path=/`, { headers: { 'x-request-id': 'mine-1' } })
  expect(failed.status).toBeGreaterThanOrEqual(400)
  const written = lines.map((line) => JSON.parse(line))
  const mine = written.filter(({ request_id }) => request_id === 'mine-1')
  expect(mine.filter(({ msg }) => msg === 'a request has ended')).toEqual([
    expect.objectContaining({
      level: 20,
      method: 'GET',
      route: `${path}/{runtime_id}/files/stat`,
      status: failed.status,
      ms: expect.any(Number),
      key_id: expect.stringMatching(/^ky/),
      peer: '127.0.0.1',
    }),
  ])
})

test('work that a request starts has its id, even after the answer', async () => {
  const { log, lines } = talkative()
  await runFor({ requestId: 'rq1', caller: null, span: null }, async () => {
    await new Promise((resolve) => setTimeout(resolve, 1))
    log.warn({ runtime_id: 'rt1' }, 'later')
  })
  log.warn({}, 'outside')
  const [later, outside] = lines.map((line) => JSON.parse(line))
  expect(later).toMatchObject({ request_id: 'rq1', runtime_id: 'rt1', msg: 'later' })
  expect(outside.request_id).toBeUndefined()
})

test.each(['a', 'rq1', 'b7ad6b71-69203331', 'A.b_c-9', 'x'.repeat(64)])(
  'the request id %s of a client is accepted',
  (id) => {
    expect(givenRequestId(id)).toBe(id)
  },
)

test.each([undefined, '', '-a', 'a b', 'a"b', 'a\nb', 'ä', 'x'.repeat(65), ['a', 'b']])(
  'the request id %j of a client is replaced',
  (id) => {
    expect(givenRequestId(id)).toBeNull()
  },
)

test('no line contains a secret, or what clients run and write', async () => {
  const { log, lines } = talkative()
  const server = await startTestServer({ log, builder: new FakeBuilder() })
  const { ask, makeKey, makeRuntime } = server
  const { key } = await makeKey('runtime:read')
  await ask('POST', '/v1/agents/secret', { json: { name: 'vendor', value: 'canary-value', hosts: ['a.example.com'] } })
  const settings = { name: 'idp', type: 'oauth2', token_url: 'https://canary.example.com/t', client_id: 'c' }
  await ask('POST', '/v1/agents/identity-provider', { json: { ...settings, client_secret: 'canary-client-secret' } })
  const policy = { allow: [{ host: 'a.example.com' }] }
  const id = await makeRuntime({ env: { TOKEN: 'canary-env' }, network_policy: policy, secrets: ['vendor'] })
  server.gateway.of(id)?.decide({ name: 'a.example.com', path: '/canary-request-path' })
  const command = { command: 'echo canary-command', env: { A: 'canary-command-env' }, stdin: 'canary-stdin' }
  await ask('POST', `${path}/${id}/commands`, { json: command })
  await ask('POST', `${path}/${id}/commands`, { json: { ...command, user: 'nobody-of-that-name' } })
  await ask('PUT', `${path}/${id}/files/content?path=/tmp/f`, { body: 'canary-content' })
  const build = {
    name: 'b',
    dockerfile: 'FROM scratch\nENV A=canary-dockerfile',
    build_secrets: { s: 'canary-build-secret' },
  }
  await ask('POST', '/v1/agents/template/build', { json: build })
  // Refusals and failures quote parts of the request.
  await ask('POST', path, { key, json: { env: { B: 'canary-refused' } } })
  await ask('POST', path, { json: { env: 'canary-wrong-type' } })
  await ask('POST', path, { body: '{"env": canary-no-json', headers: { 'content-type': 'application/json' } })
  await ask('GET', path, { key: 'holt_canary-wrong-key' })
  await ask('GET', `${path}?limit=canary-query`)
  await ask('GET', '/canary-no-route', { headers: { cookie: 'a=canary-cookie', 'x-canary': 'canary-header' } })
  const { token } = (await ask('GET', `${path}/${id}/ports/3000`)).json
  const inPath = `${path}/${id}/ports/3000/proxy/canary-page`
  await fetch(`${server.server.url}${inPath}?holt_token=${token}&q=canary-visit`)
  await fetch(`${server.server.url}${inPath}?holt_token=canary-token`)
  await server.close()
  const text = lines.join('\n')
  expect(lines.length).toBeGreaterThan(10)
  expect(text).not.toContain('canary')
  for (const secret of [key, server.server.adminKey, token]) expect(text).not.toContain(secret)
})

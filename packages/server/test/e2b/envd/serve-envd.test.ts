import { connectStatuses, signatureOf } from '@holt/e2b'
import { type ErrorCode, errorCatalogue } from '@holt/protocol'
import { describe, expect, test } from 'vitest'
import { connectCodeOf } from '../../../src/e2b/envd/envd-error.ts'
import { type E2bServer, startE2bServer } from '../../support/e2b-server.ts'

interface Made {
  readonly sandboxID: string
  readonly envdAccessToken: string
}

async function start(
  options: Parameters<typeof startE2bServer>[1] = {},
): Promise<E2bServer & { made: Made; headers: Record<string, string> }> {
  const server = await startE2bServer({}, options)
  const { json: made } = await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base' } })
  return { ...server, made, headers: headersOf(made) }
}

function headersOf({ sandboxID, envdAccessToken }: Made): Record<string, string> {
  return { 'e2b-sandbox-id': sandboxID, 'e2b-sandbox-port': '49983', 'x-access-token': envdAccessToken }
}

/** Calls a method that answers one message. */
function call(server: E2bServer, path: string, { headers, json }: { headers: Record<string, string>; json: object }) {
  return server.e2b('POST', path, { headers, json, key: null })
}

/** Calls a method that answers a stream. The message is short and ASCII. */
async function stream(
  server: E2bServer,
  path: string,
  { headers, json }: { headers: Record<string, string>; json: object },
) {
  const message = JSON.stringify(json)
  // A body of text has no other bytes than these.
  expect(message.length).toBeLessThan(128)
  const body = `\0\0\0\0${String.fromCharCode(message.length)}${message}`
  const all = { ...headers, 'content-type': 'application/connect+json' }
  const { status, text } = await server.e2b('POST', path, { headers: all, body, key: null })
  const items = text.split(/[\0\x02]\0\0[\s\S]{2}(?=\{)/).filter((item) => item !== '')
  return { status, items: items.map((item) => JSON.parse(item)) }
}

describe('a process', () => {
  test('has output and an end, and is found by its PID afterwards', async () => {
    const server = await start()
    const asked = { process: { cmd: 'echo', args: ['hi'] }, stdin: false }
    const { status, items } = await stream(server, '/process.Process/Start', { headers: server.headers, json: asked })
    const pid = items[0]?.event?.start?.pid
    expect(status).toBe(200)
    expect(items).toEqual([
      { event: { start: { pid: expect.any(Number) } } },
      { event: { data: { stdout: Buffer.from('hi\n').toString('base64') } } },
      { event: { end: { exited: true, status: 'exit status 0' } } },
      {},
    ])
    const again = await stream(server, '/process.Process/Connect', {
      headers: server.headers,
      json: { process: { pid } },
    })
    expect(again.items.map((item) => Object.keys(item.event ?? {})[0])).toEqual(['start', 'end', undefined])
    expect((await server.ask('GET', `/v1/agents/runtime/${server.made.sandboxID}/commands`)).json.data).toHaveLength(1)
  })

  test('that does not exist is not found', async () => {
    const server = await start()
    const json = { process: { pid: 999_999 }, signal: 'SIGNAL_SIGKILL' }
    const answer = await call(server, '/process.Process/SendSignal', { headers: server.headers, json })
    expect([answer.status, answer.json.code]).toEqual([404, 'not_found'])
  })
})

describe('a file', () => {
  test('is written, described, read and removed', async () => {
    const server = await start()
    const { headers } = server
    const octets = { ...headers, 'content-type': 'application/octet-stream' }
    const written = await server.e2b('POST', '/files?path=/tmp/a', { headers: octets, body: 'hello', key: null })
    expect([written.status, written.json]).toEqual([200, [{ name: 'a', type: 'file', path: '/tmp/a' }]])
    const stat = await call(server, '/filesystem.Filesystem/Stat', { headers, json: { path: '/tmp/a' } })
    expect(stat.json.entry).toMatchObject({ size: '5', type: 'FILE_TYPE_FILE', path: '/tmp/a' })
    expect((await server.e2b('GET', '/files?path=/tmp/a', { headers, key: null })).text).toBe('hello')
    for (let count = 0; count < 2; count += 1)
      expect((await call(server, '/filesystem.Filesystem/Remove', { headers, json: { path: '/tmp/a' } })).status).toBe(
        200,
      )
    const gone = await server.e2b('GET', '/files?path=/tmp/a', { headers, key: null })
    expect([gone.status, gone.json.message]).toEqual([404, "path '/tmp/a' does not exist"])
  })

  test('has an address that a signature opens, with and without the name of the sandbox', async () => {
    const server = await start()
    const { made, headers } = server
    const octets = { ...headers, 'content-type': 'application/octet-stream' }
    await server.e2b('POST', '/files?path=/tmp/a', { headers: octets, body: 'hello', key: null })
    const address = { path: '/tmp/a', operation: 'read', username: '', expiry: null } as const
    const signature = encodeURIComponent(signatureOf(address, made.envdAccessToken))
    const { 'x-access-token': _, ...named } = headers
    for (const sent of [named, {}]) {
      const get = (query: string) => server.e2b('GET', `/files?${query}`, { headers: sent, key: null })
      expect((await get(`path=/tmp/a&signature=${signature}`)).text).toBe('hello')
      expect((await get(`path=/tmp/b&signature=${signature}`)).json).toMatchObject({
        code: 401,
        message: 'invalid signature',
      })
      expect((await get(`path=/tmp/a&username=root&signature=${signature}`)).status).toBe(401)
      const sentAsUpload = { headers: { ...sent, 'content-type': 'application/octet-stream' }, body: 'x', key: null }
      expect((await server.e2b('POST', `/files?path=/tmp/a&signature=${signature}`, sentAsUpload)).status).toBe(401)
    }
  })

  test('has a signed address that ends in time, and not at a later one', async () => {
    let now = Date.now()
    const server = await start({ now: () => now })
    const { made, headers } = server
    const octets = { ...headers, 'content-type': 'application/octet-stream' }
    await server.e2b('POST', '/files?path=/tmp/a', { headers: octets, body: 'hello', key: null })
    const expiry = String(Math.floor(now / 1000) + 60)
    const signature = signatureOf({ path: '/tmp/a', operation: 'read', username: '', expiry }, made.envdAccessToken)
    const { 'x-access-token': _, ...named } = headers
    const get = (end: string) => {
      const query = `path=/tmp/a&signature=${encodeURIComponent(signature)}${end}`
      return server.e2b('GET', `/files?${query}`, { headers: named, key: null })
    }
    const ends = `&signature_expiration=${expiry}`
    expect((await get(ends)).text).toBe('hello')
    for (const stretched of [`&signature_expiration=${Number(expiry) + 1}`, '', '&signature_expiration='])
      expect((await get(stretched)).json).toEqual({ code: 401, message: 'invalid signature' })
    now += 62_000
    expect((await get(ends)).json).toEqual({ code: 401, message: 'signature is already expired' })
  })
})

describe('a token', () => {
  test('opens its own sandbox alone', async () => {
    const server = await start()
    const { json: other } = await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base' } })
    const headers = { ...headersOf(other), 'x-access-token': server.made.envdAccessToken }
    const answer = await call(server, '/process.Process/List', { headers, json: {} })
    expect([answer.status, answer.json.code]).toEqual([401, 'unauthenticated'])
    const { items } = await stream(server, '/process.Process/Connect', { headers, json: { process: { pid: 1 } } })
    expect(items).toEqual([{ error: { code: 'unauthenticated', message: expect.any(String) } }])
    for (const path of ['/metrics', '/envs', '/files?path=/tmp'])
      expect((await server.e2b('GET', path, { headers, key: null })).status).toBe(401)
    expect((await server.e2b('GET', '/health', { headers, key: null })).status).toBe(204)
  })

  test('opens nothing when the sandbox has ended', async () => {
    const server = await start()
    await server.e2b('DELETE', `/sandboxes/${server.made.sandboxID}`)
    const answer = await call(server, '/process.Process/List', { headers: server.headers, json: {} })
    expect(answer.json).toMatchObject({ code: 502, message: 'The sandbox was not found' })
    expect((await server.e2b('GET', '/health', { headers: server.headers, key: null })).status).toBe(502)
  })
})

test('changes inside are in the audit log, and reads are not', async () => {
  const server = await start()
  const { headers, made } = server
  const octets = { ...headers, 'content-type': 'application/octet-stream' }
  await server.e2b('POST', '/files?path=/tmp/a', { headers: octets, body: 'hello', key: null })
  await server.e2b('GET', '/files?path=/tmp/a', { headers, key: null })
  await call(server, '/filesystem.Filesystem/Stat', { headers, json: { path: '/tmp/a' } })
  await call(server, '/filesystem.Filesystem/Remove', { headers, json: { path: '/tmp/a' } })
  const asked = { process: { cmd: 'echo', args: ['hi'] }, stdin: false }
  await stream(server, '/process.Process/Start', { headers, json: asked })
  const entries = async () => (await server.ask('GET', '/v1/agents/audit?kind=inside')).json.data
  await expect
    .poll(async () => (await entries()).map(({ route, key, subject_id }: never) => [route, key, subject_id]))
    .toEqual(['Start', 'Remove', 'writeFiles'].map((name) => [`e2b.${name}`, null, made.sandboxID]))
})

test('strangers use up no limit of the project', async () => {
  const env = { HOLT_PROJECT_QUOTAS: 'requests_per_sec=1,request_burst=20' }
  const server = await startE2bServer(env, { monotonic: () => 0 })
  const { json: made } = await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base' } })
  const { 'x-access-token': _, ...named } = headersOf(made)
  for (let count = 0; count < 40; count += 1)
    expect((await server.e2b('GET', '/health', { headers: named, key: null })).status).toBe(204)
  expect((await server.e2b('GET', '/v2/sandboxes')).status).toBe(200)
})

test('an address with too many wrong signatures causes no further trials', async () => {
  const failureRate = { perSec: 1, burst: 20 }
  const server = await startE2bServer({}, { monotonic: () => 0, failureRate })
  const { json: made } = await server.e2b('POST', '/v2/sandboxes', { json: { templateID: 'base' } })
  const address = { path: '/tmp/a', operation: 'read', username: '', expiry: null } as const
  const ask = async (signature: string) => {
    const query = `path=/tmp/a&signature=${encodeURIComponent(signature)}`
    return (await server.e2b('GET', `/files?${query}`, { key: null })).status
  }
  const wrong = signatureOf(address, 'another token')
  const statuses = new Set<number>()
  for (let count = 0; count < 40 && !statuses.has(429); count += 1) statuses.add(await ask(wrong))
  expect([...statuses]).toEqual([401, 429])
  expect(await ask(signatureOf(address, made.envdAccessToken))).toBe(429)
})

test('every error of the catalogue has a code for clients', () => {
  for (const code of Object.keys(errorCatalogue) as ErrorCode[])
    expect(Object.keys(connectStatuses)).toContain(connectCodeOf(code))
  expect([connectCodeOf('rate_limited'), connectCodeOf('path_not_found')]).toEqual(['resource_exhausted', 'not_found'])
})

import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { Dialer } from '@holt/egress'
import { expect, onTestFinished, test } from 'vitest'
import { issue, makeTestCa } from '../../../../egress/test/support/certificates.ts'
import { startHttpsHost } from '../../../../egress/test/support/hosts.ts'
import { type OAuthProvider, OAuthTokens } from '../../../src/resources/identity/oauth-tokens.ts'
import type { DialTls } from '../../../src/resources/identity/post-form.ts'

const provider: OAuthProvider = {
  providerId: 'ip1',
  version: 1,
  settings: {
    type: 'oauth2',
    token_url: 'https://login.example.com/oauth/token?tenant=a',
    client_id: 'holt:one',
    scopes: ['read', 'write'],
    audience: 'api',
    authentication: 'basic',
  },
  clientSecret: 'hunter22 +&%',
}

interface Asked {
  readonly request: IncomingMessage
  readonly form: URLSearchParams
}

interface Reply {
  readonly status?: number
  readonly body: string
  readonly headers?: Record<string, string>
}

/** A token endpoint at login.example.com, and a clock of its own. */
async function setUp(reply: (count: number) => Reply | Promise<Reply>) {
  const ca = await makeTestCa()
  const asked: Asked[] = []
  const host = await startHttpsHost(await issue(ca, 'login.example.com'), async (request, response) => {
    asked.push({ request, form: new URLSearchParams(await text(request)) })
    const { status = 200, body, headers = {} } = await reply(asked.length)
    response.writeHead(status, headers).end(body)
  })
  onTestFinished(() => host[Symbol.asyncDispose]())
  const overrides = [{ host: 'login.example.com', port: 443, toHost: host.host, toPort: host.port }]
  const dialer = new Dialer({
    resolvers: ['127.0.0.1:1'],
    allowedNetworks: [],
    overrides,
    extraCaPem: ca.certificatePem,
  })
  const dial: DialTls = (target, signal) => dialer.dialTls(target, signal)
  const clock = { now: 1_000_000 }
  return { asked, clock, tokens: new OAuthTokens(dial, () => clock.now) }
}

const token = (name: string, expires_in?: unknown) => ({
  body: JSON.stringify({ access_token: name, token_type: 'Bearer', expires_in }),
})

test('the request follows RFC 6749, with the id and secret form-encoded', async () => {
  const { tokens, asked } = await setUp(() => token('t1', 3600))
  expect(await tokens.token(provider)).toBe('t1')
  const [{ request, form } = {} as Asked] = asked
  expect([request.method, request.url, request.headers.host]).toEqual([
    'POST',
    '/oauth/token?tenant=a',
    'login.example.com',
  ])
  expect(Object.fromEntries(form)).toEqual({ grant_type: 'client_credentials', scope: 'read write', audience: 'api' })
  const pair = Buffer.from(request.headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString()
  expect(pair).toBe('holt%3Aone:hunter22+%2B%26%25')
})

test('the id and secret are in the form on request', async () => {
  const { tokens, asked } = await setUp(() => token('t1'))
  await tokens.token({
    ...provider,
    settings: { ...provider.settings, authentication: 'body', scopes: [], audience: null },
  })
  expect(asked[0]?.request.headers.authorization).toBeUndefined()
  expect(Object.fromEntries(asked[0]?.form ?? [])).toEqual({
    grant_type: 'client_credentials',
    client_id: 'holt:one',
    client_secret: 'hunter22 +&%',
  })
})

test('a token is requested once for all, and again shortly before it expires', async () => {
  const { tokens, asked, clock } = await setUp((count) => token(`t${count}`, '600'))
  expect(new Set(await Promise.all(Array.from({ length: 20 }, () => tokens.token(provider))))).toEqual(new Set(['t1']))
  clock.now += 500_000
  expect([await tokens.token(provider), asked.length]).toEqual(['t1', 1])
  clock.now += 50_000 // Less than a minute is left: the next one is fetched beside, and nobody waits.
  expect(await tokens.token(provider)).toBe('t1')
  await expect.poll(() => tokens.token(provider), { timeout: 30_000 }).toBe('t2')
  clock.now += 700_000
  expect([await tokens.token(provider), asked.length]).toEqual(['t3', 3])
})

test('changed settings give a new token', async () => {
  const { tokens } = await setUp((count) => token(`t${count}`, 3600))
  expect(await tokens.token(provider)).toBe('t1')
  expect(await tokens.token({ ...provider, version: 2 })).toBe('t2')
})

test.each([
  [
    'a refusal',
    { status: 401, body: '{"error":"invalid_client","error_description":"hunter22 is wrong"}' },
    'answered 401 (invalid_client)',
  ],
  ['an odd refusal', { status: 500, body: '{"error":"hunter22 IS WRONG"}' }, 'answered 500'],
  ['no JSON', { body: 'hunter22' }, 'without a usable access_token'],
  ['no token', { body: '{"token":"hunter22"}' }, 'without a usable access_token'],
  ['a token that is no header', token('a\r\nb: c'), 'without a usable access_token'],
  ['a token that is too long', token('x'.repeat(9000)), 'without a usable access_token'],
  ['an answer without end', { body: 'x'.repeat(100_000) }, 'could not be reached'],
  [
    'a redirect, which is not followed',
    { status: 302, body: '', headers: { location: 'https://login.example.com/2' } },
    'answered 302',
  ],
])('%s is an error without quoted content', async (_, reply, told) => {
  const { tokens, asked, clock } = await setUp(() => reply)
  const failure = await tokens.token(provider).catch((error: Error) => error.message)
  expect(failure).toContain(told)
  expect(failure).not.toMatch(/hunter22|holt:one/)
  expect(tokens.lastError('ip1')).toEqual({ message: failure, at: clock.now })
  await expect(tokens.token(provider)).rejects.toThrow(told)
  expect(asked).toHaveLength(1) // It is left alone for a while.
})

test('a failure is retried, and a valid token stays in use meanwhile', async () => {
  const { tokens, asked, clock } = await setUp((count) =>
    count === 2 ? { status: 503, body: '' } : token(`t${count}`, 600),
  )
  await tokens.token(provider)
  clock.now += 550_000
  expect(await tokens.token(provider)).toBe('t1')
  await expect.poll(() => tokens.lastError('ip1')?.message, { timeout: 30_000 }).toContain('503')
  expect([await tokens.token(provider), asked.length]).toEqual(['t1', 2])
  clock.now += 100_000
  expect([await tokens.token(provider), asked.length]).toEqual(['t3', 3])
  expect(tokens.lastError('ip1')).toBeNull()
})

test('a forbidden endpoint is an error without addresses', async () => {
  const dialer = new Dialer({ resolvers: ['127.0.0.1:1'], allowedNetworks: [], overrides: [], extraCaPem: null })
  const tokens = new OAuthTokens((target, signal) => dialer.dialTls(target, signal), Date.now)
  const internal = { ...provider.settings, token_url: 'https://127.0.0.1/token' }
  const failure = await tokens.token({ ...provider, settings: internal }).catch((error: Error) => error.message)
  expect(failure).toBe('the token endpoint could not be reached')
})

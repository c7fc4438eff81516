import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { fetchFile } from '../../src/index.ts'
import { type Behaviour, startBadRegistry, tinyImage } from '../support/bad-registry.ts'
import { directNetwork } from '../support/direct-network.ts'

const retryPolicy = { attempts: 3, firstDelayMs: 1, maxDelayMs: 5 }
const signal = () => AbortSignal.timeout(25_000)

/** Fetches an address of `files.test`, which answers as it is told. */
async function fetched(url: string, behave: Behaviour, maxBytes = 2 ** 20) {
  await using server = await startBadRegistry(await tinyImage(), behave)
  const network = directNetwork({ 'files.test': server.port })
  const file = await fetchFile(url, { network, maxBytes, retryPolicy }, signal())
  return { ...file, content: (await buffer(file.body)).toString(), asked: network.asked, requests: server.requests }
}

test.each<[string, Record<string, string>, string]>([
  ['https://files.test/a/b.tar.gz?sig=1', {}, 'b.tar.gz'],
  ['http://files.test/a%20b', {}, 'a b'],
  ['https://files.test/', {}, ''],
  ['https://files.test/dir/', {}, ''],
  ['https://files.test/%2e%2e%2fpasswd', {}, 'passwd'],
  ['https://files.test/a%00b', {}, ''],
  ['https://files.test/%ff', {}, '%ff'],
  ['https://files.test/a', { 'content-disposition': 'attachment; filename="tool-1.0.bin"' }, 'tool-1.0.bin'],
  ['https://files.test/a', { 'content-disposition': 'attachment; filename=tool' }, 'tool'],
  ['https://files.test/a', { 'content-disposition': 'attachment; filename="../../etc/passwd"' }, 'passwd'],
  ['https://files.test/a', { 'content-disposition': 'attachment; filename=".."' }, 'a'],
  ['https://files.test/a', { 'content-disposition': 'inline' }, 'a'],
])('%s with %j is called %j', async (url, headers, name) => {
  const file = await fetched(url, (_, response) => response.writeHead(200, headers).end('content'))
  expect(file).toMatchObject({ name, content: 'content', mode: 0o600, modifiedAtSecs: null })
})

test('the time is that of the server, and a redirect keeps the name', async () => {
  const file = await fetched('https://files.test/a', ({ url }, response) =>
    url === '/a'
      ? response.writeHead(302, { location: '/elsewhere/b' }).end()
      : response.writeHead(200, { 'last-modified': 'Thu, 01 Jan 1970 00:01:00 GMT' }).end('x'),
  )
  expect(file).toMatchObject({ name: 'a', modifiedAtSecs: 60, content: 'x' })
})

test('temporary errors are retried', async () => {
  let count = 0
  const file = await fetched('https://files.test/a', (_, response) =>
    count++ < 2 ? response.writeHead(503).end() : response.end('x'),
  )
  expect(file.content).toBe('x')
})

test.each<[string, string, RegExp, Behaviour]>([
  ['is not there', 'https://files.test/a', /does not have it/, (_, response) => response.writeHead(404).end()],
  [
    'redirects inside',
    'https://files.test/a',
    /not public/,
    (_, response) => response.writeHead(302, { location: 'https://169.254.169.254/' }).end(),
  ],
  [
    'redirects to plain HTTP',
    'https://files.test/a',
    /without TLS/,
    (_, response) => response.writeHead(302, { location: 'http://files.test/b' }).end(),
  ],
  [
    'redirects to a file',
    'http://files.test/a',
    /not HTTP/,
    (_, response) => response.writeHead(302, { location: 'file:///etc/shadow' }).end(),
  ],
  [
    'is too large',
    'https://files.test/a',
    /more than 1048576/,
    (_, response) => response.writeHead(200, { 'content-length': 2 ** 30 }).write('x'),
  ],
  [
    'becomes too large',
    'https://files.test/a',
    /more than 1048576/,
    (_, response) => response.end(Buffer.alloc(2 ** 21)),
  ],
  [
    'breaks off',
    'https://files.test/a',
    /closed the connection/,
    (_, response) => response.write('x', () => response.destroy()),
  ],
  ['is inside', 'http://127.0.0.1:22/', /not public/, () => undefined],
  ['is inside, in IPv6', 'http://[::1]/', /not public/, () => undefined],
  ['is not HTTP', 'file:///etc/shadow', /not a URL/, () => undefined],
  ['is no address', 'nothing', /not a URL/, () => undefined],
  ['has a password', 'https://a:b@files.test/', /credentials/, () => undefined],
])('a source that %s fails the step with the reason', async (_what, url, message, behave) => {
  await expect(fetched(url, behave)).rejects.toMatchObject({
    code: 'step_failed',
    message: expect.stringMatching(message),
  })
})

test.each([
  ['http://127.0.0.1:22/', /public address/],
  ['https://none.test/a', /look up names/],
])('if %s cannot be reached, the error has the remedy', async (url, hint) => {
  await expect(fetched(url, () => undefined)).rejects.toMatchObject({ hint: expect.stringMatching(hint) })
})

test('the query, which can be a signature, is in no message', async () => {
  const failure = await fetched('https://files.test/a?sig=private', (_, response) =>
    response.writeHead(403).end(),
  ).catch((error: Error) => error)
  expect((failure as Error).message).toContain('https://files.test/a could not')
  expect((failure as Error).stack).not.toContain('private')
})

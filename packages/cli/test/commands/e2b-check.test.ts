import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runHolt } from '../support/run-holt.ts'

const key = `e2b_${'0'.repeat(40)}`

/** A service that answers as E2B does, as far as the check asks. */
async function startService(wrong: Readonly<Record<string, number>> = {}) {
  const seen: string[] = []
  const answers: Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => void>> = {
    'GET /health': (_, response) => response.writeHead(204).end(),
    'GET /v2/sandboxes': ({ headers }, response) =>
      response.writeHead(headers['x-api-key'] === key ? 200 : 401).end('[]'),
    'POST /v2/sandboxes': (_, response) =>
      response.writeHead(201).end(JSON.stringify({ sandboxID: 'rt1', envdAccessToken: 'token' })),
    'GET /sandboxes/rt1': (_, response) => response.end(JSON.stringify({ allowInternetAccess: false })),
    'POST /files': (_, response) => response.end('[]'),
    'GET /files': (_, response) => response.end('checked'),
    'POST /process.Process/Start': (_, response) =>
      response.end(JSON.stringify({ event: { data: { stdout: Buffer.from('42\n').toString('base64') } } })),
    'DELETE /sandboxes/rt1': (_, response) => response.writeHead(204).end(),
  }
  const server = createServer((request, response) => {
    const name = `${request.method} ${request.url?.split('?')[0]}`
    seen.push(name)
    request.resume()
    const status = wrong[name]
    if (status !== undefined) response.writeHead(status).end('{"message":"no"}')
    else if (answers[name] === undefined) response.writeHead(404).end()
    else answers[name](request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

/** Runs the check where no package and no program is installed. */
async function check(env: Record<string, string>, args: readonly string[] = []) {
  const dir = await mkdtemp(join(tmpdir(), 'holt-check-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return runHolt(['e2b', 'check', ...args], { env: { PATH: dir, ...env } })
}

test('a service that does all of it passes, and missing packages are only noted', async () => {
  const { url, seen } = await startService()
  const { code, stdout } = await check({ E2B_API_KEY: key, E2B_API_URL: url, E2B_SANDBOX_URL: url })
  expect(stdout).not.toContain('FIX')
  expect(code).toBe(0)
  for (const name of ['create', 'egress', 'files', 'commands', 'kill']) expect(stdout).toContain(`ok   ${name}: `)
  expect(stdout).toContain('note e2b for Python: is not installed here')
  expect(seen).toContain('DELETE /sandboxes/rt1')
})

test('a package that does not trust the certificate is told how', async () => {
  const { url } = await startService()
  const dir = await mkdtemp(join(tmpdir(), 'holt-check-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const error = 'httpx.ConnectError: Request failed: invalid peer certificate: UnknownIssuer'
  await writeFile(join(dir, 'python3'), `#!/bin/sh\necho '${error}' >&2\nexit 1\n`, { mode: 0o755 })
  const { code, stdout } = await runHolt(['e2b', 'check'], {
    env: { PATH: `${dir}:/bin`, E2B_API_KEY: key, E2B_API_URL: url, E2B_SANDBOX_URL: url },
  })
  expect(stdout).toContain(`FIX  e2b for Python: a program failed: ${error}. Set SSL_CERT_FILE`)
  expect(code).toBe(1)
})

test.each([
  ['nothing is set', {}, 'E2B_API_KEY: is not set'],
  ['no address is set', { E2B_API_KEY: key }, 'programs would use E2B itself'],
  [
    'one of two addresses is set',
    { E2B_API_KEY: key, E2B_API_URL: 'http://127.0.0.1:1' },
    'E2B_SANDBOX_URL is not set',
  ],
  [
    'a name is not found',
    { E2B_API_KEY: key, E2B_DOMAIN: 'none.invalid' },
    'add a wildcard entry to your DNS: *.none.invalid',
  ],
  ['nothing listens', { E2B_API_KEY: key, E2B_API_URL: 'http://127.0.0.1:1', E2B_SANDBOX_URL: 'x' }, 'does not answer'],
])('if %s, it says so and ends with 1', async (_, env, message) => {
  const { code, stdout } = await check(env)
  expect(stdout).toContain(message)
  expect(code).toBe(1)
})

test.each([
  ['GET /health', 404, 'holt up --e2b'],
  ['GET /v2/sandboxes', 401, 'does not accept E2B_API_KEY'],
  ['POST /v2/sandboxes', 503, 'answers 503'],
  ['GET /files', 401, 'reading a file answers 401'],
  ['POST /process.Process/Start', 501, 'a command answers 501'],
])('a service that fails at %s is reported', async (name, status, message) => {
  const { url, seen } = await startService({ [name]: status })
  const { code, stdout } = await check({ E2B_API_KEY: key, E2B_API_URL: url, E2B_SANDBOX_URL: url })
  expect(stdout).toContain(message)
  expect(code).toBe(1)
  // A sandbox that was made is not left behind.
  expect(seen.includes('POST /v2/sandboxes') && name !== 'POST /v2/sandboxes').toBe(
    seen.includes('DELETE /sandboxes/rt1'),
  )
})

import { spawnSync } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { programFile } from '@holt/testkit'
import { expect, onTestFinished, test } from 'vitest'
import { startTestService } from '../../../sdk/test/support/test-service.ts'
import { runHolt } from '../support/run-holt.ts'

/** Starts a service that answers clients of E2B as far as `holt e2b env` asks. */
async function startEntry(): Promise<string> {
  const server = createServer((_request, response) => response.writeHead(204).end())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const run = (url: string, args: readonly string[], env: Record<string, string> = {}) =>
  runHolt(['e2b', 'env', ...args], { env: { HOLT_URL: url, HOLT_API_KEY: 'holt_x', ...env } })

test('prints the variables for one address', async () => {
  const url = await startEntry()
  const { code, stdout } = await run(url, ['--key', 'e2b_1'])
  expect([code, stdout]).toEqual([
    0,
    `export E2B_API_KEY=e2b_1\nexport E2B_API_URL=${url}\nexport E2B_SANDBOX_URL=${url}\nunset E2B_DOMAIN\n`,
  ])
})

test('prints the variables for a domain, also that of the settings', async () => {
  const url = await startEntry()
  const wanted = 'export E2B_API_KEY=e2b_1\nexport E2B_DOMAIN=holt.localhost:8443\nunset E2B_API_URL E2B_SANDBOX_URL\n'
  expect((await run(url, ['--key', 'e2b_1', '--domain', 'holt.localhost:8443'])).stdout).toBe(wanted)
  expect((await run(url, ['--key', 'e2b_1'], { HOLT_E2B_DOMAIN: 'holt.localhost:8443' })).stdout).toBe(wanted)
})

test('makes a key that also builds templates', async () => {
  const asked: Record<string, unknown>[] = []
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') return response.writeHead(204).end()
    asked.push((await json(request)) as Record<string, unknown>)
    return response.writeHead(201, { 'content-type': 'application/json' }).end('{"key":"e2b_2"}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { stdout } = await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, ['--json'])
  expect(JSON.parse(stdout)).toMatchObject({ E2B_API_KEY: 'e2b_2' })
  const scopes = ['runtime:read', 'runtime:write', 'template:read', 'template:write']
  expect(asked).toEqual([{ name: 'for clients of E2B', format: 'e2b', scopes }])
})

test('prints them as JSON', async () => {
  const url = await startEntry()
  const { stdout } = await run(url, ['--key', 'k', '--json'])
  expect(JSON.parse(stdout)).toEqual({ E2B_API_KEY: 'k', E2B_API_URL: url, E2B_SANDBOX_URL: url })
})

test('says how to let the service take clients of E2B', async () => {
  const service = await startTestService()
  onTestFinished(() => service.close())
  const { code, stderr } = await runHolt(['e2b', 'env'], { service })
  expect(code).not.toBe(0)
  expect(stderr).toContain('HOLT_E2B=on')
  expect(service.keys.size).toBe(0)
})

test('makes the files of domain mode with the program of the service', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'holt-certificate-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const { status, stdout } = spawnSync(
    process.execPath,
    [programFile('holt'), 'e2b', 'certificate', '--out', dir, '--domain', 'a.lan', '--days', '9', '--json'],
    { encoding: 'utf8', timeout: 60_000 },
  )
  expect(status).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ domain: 'a.lan', new_authority: true, trusted: null })
  expect((await readdir(dir)).toSorted()).toEqual([
    'authority-key.pem',
    'authority.pem',
    'bundle.pem',
    'certificate.pem',
    'key.pem',
  ])
})

import { expect, test } from 'vitest'
import { parseConfig } from '../../../server/src/index.ts'
import { startTestServer, type TestServer } from '../../../server/test/support/start-test-server.ts'
import { newStateDir, testDatabase } from '../../../server/test/support/test-store.ts'
import { fakeBrowser } from '../support/fake-browser.ts'
import { runHolt } from '../support/run-holt.ts'

/** Runs `holt console` against a real service. `path` has the program that opens addresses. */
function runConsole({ server }: TestServer, args: readonly string[], path = '/nowhere') {
  const env = { HOLT_URL: server.url, HOLT_API_KEY: server.adminKey, PATH: path }
  return runHolt(['console', ...args], { env })
}

/** Signs in with a link as its page does. Returns the status. */
async function follow({ server, ask }: TestServer, link: string): Promise<number> {
  const [, code = ''] = /^#code=([\w-]{43})$/.exec(new URL(link).hash) ?? []
  const headers = { 'x-holt-console': 'p'.repeat(43), 'x-holt-link-code': code, origin: server.url }
  return (await ask('POST', '/console/session', { key: null, headers })).status
}

test('holt console --no-open prints a link that signs in once', async () => {
  const service = await startTestServer()
  const { code, stdout, stderr } = await runConsole(service, ['--no-open'])
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/console\/#code=[\w-]{43}\n$/)
  expect([await follow(service, stdout.trim()), await follow(service, stdout.trim())]).toEqual([201, 401])
})

test('holt console opens the link, and does not print its code', async () => {
  const service = await startTestServer()
  const browser = await fakeBrowser()
  const { code, stdout, stderr } = await runConsole(service, [], browser.path)
  expect([code, stdout, stderr]).toEqual([0, '', `Opening ${service.server.url}/console/\n`])
  expect(await follow(service, await browser.opened())).toBe(201)
})

test('holt console prints the link if nothing opens it', async () => {
  const service = await startTestServer()
  const { stdout, stderr } = await runConsole(service, [])
  expect(stderr).toContain('xdg-open cannot be started')
  expect(await follow(service, stdout.trim())).toBe(201)
})

test('holt console says that a service has no console', async () => {
  const stateDir = await newStateDir()
  const settings = { HOLT_STATE_DIR: stateDir, HOLT_PORT: '0', HOLT_POOL_MAX: '0', HOLT_CONSOLE: '0' }
  const config = { ...parseConfig(settings), ...(await testDatabase(stateDir)) }
  const { code, stderr } = await runConsole(await startTestServer({ config }, stateDir), [])
  expect([code, stderr]).toEqual([1, expect.stringContaining('HOLT_CONSOLE=1')])
})

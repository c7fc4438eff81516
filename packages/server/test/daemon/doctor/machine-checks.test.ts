import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { lineOf, mustFix, ok, warn } from '../../../src/daemon/doctor/check.ts'
import { checkNode, checkPort, checkRoot } from '../../../src/daemon/doctor/machine-checks.ts'
import { parseConfig } from '../../../src/foundation/config/config.ts'

test.each([
  ['24.1.0', 'ok'],
  ['22.18.0', 'ok'],
  ['22.17.9', 'fix'],
  ['20.20.0', 'fix'],
])('node %s is %s', (current, status) => {
  expect(checkNode(current).status).toBe(status)
})

test('the daemon needs root', () => {
  expect([checkRoot(0).status, checkRoot(1000).status, checkRoot(undefined).status]).toEqual(['ok', 'fix', 'fix'])
})

test('a port in use is reported with another port', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const config = parseConfig({ HOLT_PORT: String(port) })
  expect(await checkPort(config)).toMatchObject({ status: 'fix', fix: `export HOLT_PORT=${port + 1}` })
  expect((await checkPort({ ...config, port: 0 })).status).toBe('ok')
})

test('only a required fix is a FIX line', () => {
  expect(lineOf(mustFix('disk', 'full', 'rm it'))).toBe('FIX: rm it    # disk: full')
  expect(lineOf(ok('disk', 'fine'))).toBe('ok   disk: fine')
  expect(lineOf(warn('disk', 'small', 'grow it'))).toBe('warn disk: small (grow it)')
})

import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parseConfig } from '../../src/config/config.ts'
import { lineOf, mustFix, ok, warn } from '../../src/doctor/check.ts'
import { checkClock, checkNode, checkPort, checkRoot, checkStateDir } from '../../src/doctor/machine-checks.ts'

test.each([
  ['24.1.0', 'ok'],
  ['22.18.0', 'ok'],
  ['22.17.9', 'fix'],
  ['20.20.0', 'fix'],
])('node %s is %s', (current, status) => {
  expect(checkNode(current).status).toBe(status)
})

test('root and the clock are needed', () => {
  expect([checkRoot(0).status, checkRoot(1000).status, checkRoot(undefined).status]).toEqual(['ok', 'fix', 'fix'])
  expect([checkClock(Date.now()).status, checkClock(0).status]).toEqual(['ok', 'fix'])
})

test('a port that is taken names another', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const config = parseConfig({ HOLT_PORT: String(port) })
  expect(await checkPort(config)).toMatchObject({ status: 'fix', fix: `export HOLT_PORT=${port + 1}` })
  expect((await checkPort({ ...config, port: 0 })).status).toBe('ok')
})

test('a state directory that others can enter is to be closed; one that is not there yet is fine', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'holt-check-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const status = async (stateDir: string) => (await checkStateDir(parseConfig({ HOLT_STATE_DIR: stateDir })))[0]?.status
  expect(await status(dir)).toBe('ok')
  await chmod(dir, 0o755)
  expect(await status(dir)).toBe('fix')
  expect(await status(join(dir, 'a', 'b'))).toBe('ok')
})

test('only what must be fixed is a FIX line', () => {
  expect(lineOf(mustFix('disk', 'full', 'rm it'))).toBe('FIX: rm it    # disk: full')
  expect(lineOf(ok('disk', 'fine'))).toBe('ok   disk: fine')
  expect(lineOf(warn('disk', 'small', 'grow it'))).toBe('warn disk: small (grow it)')
})

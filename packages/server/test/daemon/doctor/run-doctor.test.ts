import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runDoctor } from '../../../src/daemon/doctor/run-doctor.ts'
import { parseConfig } from '../../../src/foundation/config/config.ts'
import { writeCredentials } from '../../../src/foundation/config/credentials.ts'
import { releaseLock, takeLock } from '../../../src/foundation/config/daemon-lock.ts'
import { noteSettings } from '../../../src/foundation/config/running-settings.ts'
import { version } from '../../../src/foundation/config/version.ts'

const isRoot = process.geteuid?.() === 0

/**
 * A state directory whose daemon is this process, which answers only whether it is ready; and a
 * runsc that only tells its version.
 */
async function besideDaemon(more: object = {}) {
  const stateDir = await mkdtemp(join(tmpdir(), 'holt-doctor-test-'))
  onTestFinished(() => rm(stateDir, { recursive: true, force: true }))
  const available = { available: true, reason: null, fix: null }
  const readiness = { status: 'ready', version: '9.9.9', reasons: [], isolation: { gvisor: available }, ...more }
  const server = createServer((_, response) => response.end(JSON.stringify(readiness)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  await takeLock(stateDir)
  onTestFinished(() => releaseLock(stateDir))
  await writeCredentials(stateDir, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: 'k' })
  const runsc = join(stateDir, 'runsc')
  await writeFile(runsc, '#!/bin/sh\necho runsc version release-20270101.0\n')
  await chmod(runsc, 0o755)
  return { stateDir, runsc }
}

const doctor = async (env: Readonly<Record<string, string>>, name: string) => {
  const checks = await runDoctor(parseConfig({ HOLT_GUEST: '/nowhere/holt-guest', ...env }))
  return checks.find((check) => check.name === name)
}

test.skipIf(!isRoot)('with a running daemon, the versions of holt, the daemon and its runsc are reported', async () => {
  const { stateDir, runsc } = await besideDaemon()
  const env = { HOLT_STATE_DIR: stateDir, HOLT_RUNSC: runsc }
  expect(await doctor(env, 'holt')).toEqual({ name: 'holt', status: 'ok', message: version, fix: null })
  expect((await doctor(env, 'holtd'))?.message).toMatch(/^9\.9\.9, ready at http:/)
  expect((await doctor(env, 'gvisor'))?.message).toBe('runsc release-20270101.0')
})

test.skipIf(!isRoot)('the runsc of a daemon with its own setting is not guessed', async () => {
  const { stateDir, runsc } = await besideDaemon()
  await noteSettings(stateDir, { HOLT_RUNSC: '/another/runsc' })
  expect((await doctor({ HOLT_STATE_DIR: stateDir, HOLT_RUNSC: runsc }, 'gvisor'))?.message).toBe('available')
})

test.skipIf(!isRoot)('with a running daemon, cold boots in place of restores are reported', async () => {
  const { stateDir } = await besideDaemon()
  expect(await doctor({ HOLT_STATE_DIR: stateDir }, 'checkpoints')).toMatchObject({ status: 'ok' })
  const fallbacks = [{ isolation: 'gvisor', reason: 'incompatible', count: 3 }]
  const other = await besideDaemon({ fallbacks })
  expect(await doctor({ HOLT_STATE_DIR: other.stateDir }, 'checkpoints')).toMatchObject({
    status: 'warn',
    message: expect.stringContaining('3 of gvisor: incompatible'),
  })
})

test.skipIf(!isRoot).each([
  [{ waiting: 2, taken: 1, failed: 0, unknown: 0 }, 'ok', '1 taken again, 2 waiting'],
  [{ waiting: 2, taken: 0, failed: 1, unknown: 0 }, 'warn', 'the service takes them again'],
  [{ waiting: 0, taken: 2, failed: 1, unknown: 0 }, 'warn', 'build the templates that the log names'],
  [{ waiting: 0, taken: 2, failed: 0, unknown: 3 }, 'warn', '3 to be built again'],
])('beside a daemon the checkpoints that are taken again are told: %o', async (retakes, status, message) => {
  const { stateDir } = await besideDaemon({ retakes })
  expect(await doctor({ HOLT_STATE_DIR: stateDir }, 'checkpoints')).toMatchObject({
    status,
    message: expect.stringContaining(message),
  })
})

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { checkOwnMachine } from '../../../src/daemon/doctor/machine-report.ts'
import { runDoctor } from '../../../src/daemon/doctor/run-doctor.ts'
import { parseConfig } from '../../../src/foundation/config/config.ts'

test('a service makes the checks of the doctor, but those of the store, the port and an engine', async () => {
  const stateDir = await mkdtemp(join(tmpdir(), 'holt-report-test-'))
  onTestFinished(() => rm(stateDir, { recursive: true, force: true }))
  // Without a guest the doctor opens no engine.
  const config = parseConfig({ HOLT_STATE_DIR: stateDir, HOLT_GUEST: '/nowhere/holt-guest' })
  const own = (await checkOwnMachine(config)).map(({ name }) => name)
  const all = (await runDoctor(config)).map(({ name }) => name)
  expect(own).toContain('memory')
  expect(all.filter((name) => !own.includes(name))).toEqual(['store', 'port', 'holtd'])
  expect(all.filter((name) => own.includes(name))).toEqual(own)
})

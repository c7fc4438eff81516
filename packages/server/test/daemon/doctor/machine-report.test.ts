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
  expect(own).toEqual(expect.arrayContaining(['memory', 'root', 'guest', 'master keys']))
  expect(all.filter((name) => !own.includes(name))).toEqual(['store', 'port', 'holtd'])
  expect(all.filter((name) => own.includes(name))).toEqual(own)
})

test('a front needs nothing for runtimes, and a worker no master keys', async () => {
  const stateDir = await mkdtemp(join(tmpdir(), 'holt-report-test-'))
  onTestFinished(() => rm(stateDir, { recursive: true, force: true }))
  const fleet = { HOLT_FLEET: '1', HOLT_PEER_ADDRESS: '10.0.0.1', HOLT_OBJECT_STORE: 'file:///srv/objects' }
  const namesOf = async (role: 'front' | 'worker', more: object) =>
    (await checkOwnMachine(parseConfig({ ...fleet, ...more, HOLT_ROLE: role, HOLT_STATE_DIR: stateDir }))).map(
      ({ name }) => name,
    )
  const front = await namesOf('front', { HOLT_DATABASE_URL: 'postgres://holt@db.example.com/holt' })
  expect(front).toEqual(expect.arrayContaining(['node', 'state directory', 'disk', 'master keys']))
  for (const name of ['root', 'memory', 'loop', 'guest', 'quotas', 'leftovers']) expect(front).not.toContain(name)
  const worker = await namesOf('worker', {})
  expect(worker).toEqual(expect.arrayContaining(['root', 'memory', 'guest']))
  expect(worker).not.toContain('master keys')
})

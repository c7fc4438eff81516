import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { comeBack, leave } from '../../src/daemon/leave.ts'
import type { FleetConfig } from '../../src/foundation/config/fleet-settings.ts'
import { hostRow, type TestHost } from '../support/fleet.ts'
import { expectFile, makeWithFile, patience, pauseAt, startMovingFleet } from '../support/moving-fleet.ts'
import { newStateDir } from '../support/test-store.ts'

const fleet = { role: 'all', beatMs: 500 } as FleetConfig

/** Makes the part of a state directory by which the programs of a machine know their host. */
async function machineOf({ hostId, server }: TestHost): Promise<string> {
  const stateDir = await newStateDir()
  await writeFile(join(stateDir, 'installation.json'), JSON.stringify({ id: 'abcdefgh', host_id: hostId }))
  const credentials = { url: server.server.url, key: server.server.adminKey }
  await writeFile(join(stateDir, 'credentials.json'), JSON.stringify(credentials))
  return stateDir
}

test('a host that leaves is empty then, and gets runtimes again after it has come back', async () => {
  const moving = await startMovingFleet(2)
  const [one, two] = moving.hosts as [TestHost, TestHost]
  const stateDir = await machineOf(one)
  const [used, paused] = [await makeWithFile(one), await makeWithFile(one)]
  await pauseAt(one, paused)
  expect(await leave({ stateDir, fleet })).toBe('this host is empty\n')
  expect(await one.engine.inspect(used)).toBeNull()
  for (const id of [used, paused]) await expectFile(two, id)
  expect(await hostRow(moving.store, one)).toMatchObject({ state: 'cordoned', wanted: 'cordoned' })
  expect(await comeBack({ stateDir, fleet })).toBe('this host gets new runtimes again\n')
  await vi.waitUntil(async () => (await hostRow(moving.store, one)).state === 'ready', patience)
})

test('a host that an operator has cordoned stays so', async () => {
  const moving = await startMovingFleet(2)
  const [one] = moving.hosts as [TestHost, TestHost]
  const stateDir = await machineOf(one)
  expect((await one.server.ask('POST', `/v1/agents/host/${one.hostId}/cordon`)).status).toBe(204)
  await leave({ stateDir, fleet })
  expect(await comeBack({ stateDir, fleet })).toBe('this host did not leave its fleet\n')
  expect((await hostRow(moving.store, one)).wanted).toBe('cordoned')
})

test('a machine without a fleet asks nobody', async () => {
  const stateDir = await newStateDir()
  expect(await leave({ stateDir, fleet: null })).toBe('this machine has no runtimes of a fleet\n')
  expect(await comeBack({ stateDir, fleet: null })).toBe('this host did not leave its fleet\n')
})

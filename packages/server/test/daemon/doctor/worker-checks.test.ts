import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeId } from '@holt/protocol'
import { expect, test } from 'vitest'
import { checkWorker, joinOf } from '../../../src/daemon/doctor/worker-checks.ts'
import { joinTokenText } from '../../../src/fleet/trust/join-token.ts'
import { openWorker } from '../../../src/fleet/trust/worker-identity.ts'
import { parseConfig } from '../../../src/foundation/config/config.ts'
import { startFront } from '../../support/joining.ts'
import { newStateDir } from '../../support/test-store.ts'

const dayMs = 24 * 60 * 60 * 1000

/** Returns the settings of a worker with a state directory of its own. */
async function newWorker() {
  const stateDir = await newStateDir()
  const tokenFile = join(stateDir, 'token')
  const config = parseConfig({
    ...{ HOLT_FLEET: '1', HOLT_ROLE: 'worker', HOLT_JOIN_TOKEN_FILE: tokenFile, HOLT_STATE_DIR: stateDir },
    ...{ HOLT_PEER_ADDRESS: '127.0.0.1', HOLT_OBJECT_STORE: 's3://holt?endpoint=https://s3.example.net&region=eu-1' },
  })
  const checks = async (now = Date.now()) => checkWorker(config, { join: await joinOf(config), now })
  return { stateDir, tokenFile, config, checks }
}

test('a worker without a join needs a token', async () => {
  const { tokenFile, checks } = await newWorker()
  expect(await checks()).toEqual([
    { name: 'worker', status: 'fix', message: expect.stringContaining('holt fleet token'), fix: null },
  ])
  await writeFile(tokenFile, 'a token')
  expect(await checks()).toMatchObject([{ status: 'ok', message: 'it joins the fleet at its next start' }])
})

test('a worker that has joined has a certificate and a database, until the certificate is over', async () => {
  const front = await startFront()
  const { stateDir, tokenFile, config, checks } = await newWorker()
  const token = joinTokenText(await front.token({ uses: 'once' }))
  await writeFile(tokenFile, token)
  const worker = { stateDir, tokenFile, hostId: makeId('host'), address: '127.0.0.1:4659', now: Date.now() }
  const { databaseUrl } = await openWorker(worker)
  expect(await joinOf(config)).toMatchObject({ databaseUrl })
  await writeFile(tokenFile, '')
  expect(await checks()).toMatchObject([{ status: 'ok', message: expect.stringMatching(/valid for 2[34] h$/) }])
  const withoutToken = { ...config, fleet: { ...config.fleet, joinTokenFile: null } as typeof config.fleet }
  const over = await checkWorker(withoutToken, { join: await joinOf(config), now: Date.now() + dayMs })
  expect(over).toMatchObject([{ status: 'fix', message: expect.stringContaining('its certificate is over') }])
})

test('another host is no worker', async () => {
  const config = parseConfig({})
  expect([await joinOf(config), await checkWorker(config, { join: null, now: 0 })]).toEqual([null, []])
})

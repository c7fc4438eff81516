import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { releaseLock, startCommand, takeLock } from '../../../src/foundation/config/daemon-lock.ts'
import {
  changedSettings,
  changedSinceLastStart,
  lastUnit,
  noteSettings,
} from '../../../src/foundation/config/running-settings.ts'
import { mountFullDisk } from '../../support/full-disk.ts'

const database = 'postgres://holt:a-canary@db.example.com/holt'

async function makeDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-settings-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return dir
}

/** A state directory over which this process runs as a daemon, started with an environment. */
async function running(env: Record<string, string>, unit: string | null = null): Promise<string> {
  const stateDir = await makeDir()
  await takeLock(stateDir, unit)
  await noteSettings(stateDir, { HOLT_STATE_DIR: stateDir, PATH: '/bin', ...env })
  return stateDir
}

test('the settings of the last daemon are the same after a start, even after a clean stop', async () => {
  const stateDir = await running({})
  expect(startCommand(await lastUnit(stateDir))).toBe('holt up')
  await noteSettings(stateDir, {}, 'holtd.service')
  await releaseLock(stateDir)
  expect(startCommand(await lastUnit(stateDir))).toBe('systemctl start holtd.service')
  expect(startCommand(await lastUnit(await makeDir()))).toBe('holt up')
})

test('changed settings are reported with the old and the new value', async () => {
  const stateDir = await running({ HOLT_PORT: '4658', HOLT_POOL_MAX: '10', HOLT_LOG_LEVEL: 'debug', HOLT_REGION: 'eu' })
  const here = {
    HOLT_POOL_MAX: '11',
    HOLT_ISOLATION: 'container',
    HOLT_POOL_MIN: '2',
    HOLT_REGION: 'eu',
    HOLT_CLOUD: '',
  }
  expect(await changedSettings(stateDir, here)).toEqual([
    { name: 'HOLT_ISOLATION', running: null, here: 'container' },
    { name: 'HOLT_LOG_LEVEL', running: 'debug', here: null },
    { name: 'HOLT_POOL_MAX', running: '10', here: '11' },
  ])
  await expect(changedSettings(stateDir, { HOLT_POOL_MAX: 'many' })).rejects.toThrow('HOLT_POOL_MAX')
})

test('the settings of domain mode are reported, which need each other', async () => {
  const stateDir = await running({ HOLT_E2B: 'on', HOLT_E2B_DOMAIN: 'one.lan' })
  const here = {
    HOLT_E2B: 'on',
    HOLT_E2B_DOMAIN: 'other.lan',
    HOLT_E2B_TLS_CERT: '/tls/certificate.pem',
    HOLT_E2B_TLS_KEY: '/tls/key.pem',
  }
  expect((await changedSettings(stateDir, here)).map(({ name }) => name).toSorted()).toEqual([
    'HOLT_E2B_DOMAIN',
    'HOLT_E2B_TLS_CERT',
    'HOLT_E2B_TLS_KEY',
  ])
})

test('a password is neither stored nor reported', async () => {
  const stateDir = await running({ HOLT_DATABASE_URL: database })
  expect(await readFile(join(stateDir, 'running.json'), 'utf8')).not.toContain('a-canary')
  expect(await changedSettings(stateDir, { HOLT_DATABASE_URL: database })).toEqual([])
  expect(await changedSettings(stateDir, { HOLT_DATABASE_URL: `${database}2` })).toEqual([
    { name: 'HOLT_DATABASE_URL', running: 'another value', here: 'another value' },
  ])
})

test('of a daemon under systemd, only settings of this shell are reported', async () => {
  const stateDir = await running({ HOLT_POOL_MAX: '10', HOLT_REGION: 'eu' }, 'holtd.service')
  expect(await changedSettings(stateDir, { HOLT_REGION: 'us' })).toEqual([
    { name: 'HOLT_REGION', running: 'eu', here: 'us' },
  ])
})

test('without a daemon, changes since the last start are reported', async () => {
  const stateDir = await makeDir()
  expect(await changedSinceLastStart(stateDir, { HOLT_PORT: '5000' })).toEqual([])
  await noteSettings(stateDir, { HOLT_PORT: '5000', HOLT_POOL_MIN: '2', HOLT_EGRESS_ALLOWED_NETWORKS: '127.0.0.0/8' })
  const here = { HOLT_POOL_MIN: '2', HOLT_REGION: 'eu' }
  expect(await changedSinceLastStart(stateDir, here)).toEqual([
    { name: 'HOLT_PORT', running: '5000', here: null },
    { name: 'HOLT_REGION', running: null, here: 'eu' },
    { name: 'HOLT_EGRESS_ALLOWED_NETWORKS', running: '127.0.0.0/8', here: null },
  ])
  await expect(changedSinceLastStart(stateDir, { HOLT_POOL_MAX: 'many' })).rejects.toThrow('HOLT_POOL_MAX')
  await takeLock(stateDir)
  expect(await changedSinceLastStart(stateDir, here)).toEqual([])
})

test.skipIf(process.getuid?.() !== 0)('with a full disk the daemon starts and reports no settings', async () => {
  const disk = join(await makeDir(), 'disk')
  await mountFullDisk(disk, 'size=256k', () => writeFile(join(disk, 'holtd.pid'), ' '.repeat(300)))
  await takeLock(disk)
  await noteSettings(disk, { HOLT_PORT: '1234' })
  expect(await changedSettings(disk, { HOLT_PORT: '4321' })).toEqual([])
})

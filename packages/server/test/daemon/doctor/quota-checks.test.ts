import { expect, test } from 'vitest'
import { checkDiskQuotas, checkQuotas } from '../../../src/daemon/doctor/quota-checks.ts'
import { parseConfig } from '../../../src/foundation/config/config.ts'

const host = { memoryMiB: 8192, cpus: 4, diskMiB: 100_000 }

const check = (HOLT_PROJECT_QUOTAS: string, more: Record<string, string> = {}) =>
  checkQuotas(parseConfig({ HOLT_PROJECT_QUOTAS, ...more }), host)

test.each([
  ['cpu=8', /: 8 vCPUs of 4;/],
  ['memory_mib=8000', /: 8000 MiB of memory of 7680;/],
  ['disk_mib=99000', /: 99000 MiB of disk of 98976;/],
  ['disk_mib=90000,snapshot_bytes=10737418240', /: 100240 MiB of disk of 98976;/],
  ['cpu=8,memory_mib=9000', /: 8 vCPUs of 4; 9000 MiB of memory of 7680;/],
])('the quota %s is reported if one project can exceed the host', (setting, message) => {
  const told = check(setting)
  expect(told.message).toContain('at most cpu=4,memory_mib=7680,disk_mib=98976')
  expect(told).toMatchObject({
    name: 'quotas',
    status: 'warn',
    message: expect.stringMatching(message),
    fix: null,
  })
})

test('the memory reserve counts', () => {
  expect(check('memory_mib=7000').status).toBe('ok')
  expect(check('memory_mib=7000', { HOLT_RESERVE_MEMORY: '2GiB' }).status).toBe('warn')
  expect(check('disk_mib=95000').status).toBe('ok')
  expect(check('disk_mib=95000', { HOLT_RESERVE_DISK: '10GiB' }).status).toBe('warn')
})

test('quotas within the host pass, and absent ones are named', () => {
  const all =
    'runtimes=9,paused_runtimes=9,cpu=4,memory_mib=7680,disk_mib=9000,snapshot_bytes=1,template_bytes=1,builds=1,requests_per_sec=9,request_burst=9'
  expect(check(all)).toMatchObject({ status: 'ok', message: expect.not.stringContaining('without a limit') })
  expect(check('runtimes=50')).toMatchObject({
    status: 'ok',
    message: expect.stringMatching(/; without a limit: paused_runtimes, cpu, memory_mib, disk_mib,/),
  })
})

test('no quotas are the default and no warning', () => {
  expect(check('')).toMatchObject({ status: 'ok', message: expect.stringContaining('HOLT_PROJECT_QUOTAS') })
})

test.each(['HOLT_RESERVE_MEMORY', 'HOLT_RESERVE_DISK'])('%s that leaves nothing is a failure', (setting) => {
  expect(check('', { [setting]: '200GiB' })).toMatchObject({ status: 'fix', fix: `unset ${setting}` })
})

test('invalid quotas are reported by name before any check', () => {
  expect(() => check('memory=5')).toThrow(/^HOLT_PROJECT_QUOTAS: must be NAME=NUMBER.*memory_mib/)
})

test('runtime disks are limited by their file systems if the kernel supports it', () => {
  const filesystems = new Set(['ext4'])
  expect(checkDiskQuotas({ filesystems, hasLoopDevices: true })).toMatchObject({ name: 'disk quotas', status: 'ok' })
  expect(checkDiskQuotas({ filesystems, hasLoopDevices: false }).status).toBe('warn')
  expect(checkDiskQuotas({ filesystems: new Set(), hasLoopDevices: true }).status).toBe('warn')
})

import { chmod, chown, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { checkLeftovers, readLeftovers } from '../../../src/daemon/doctor/leftover-checks.ts'
import {
  checkDisk,
  checkMasterKeys,
  checkStateDir,
  type DiskFacts,
  mountOf,
  readDiskFacts,
} from '../../../src/daemon/doctor/state-checks.ts'
import { checkStore } from '../../../src/daemon/doctor/store-checks.ts'
import { openStore } from '../../../src/foundation/store/open-store.ts'
import { hasPostgres, startCluster } from '../../support/postgres-cluster.ts'

/** A directory that goes with the test. */
async function makeDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-check-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return dir
}

const disk: DiskFacts = {
  sizeMiB: 200_000,
  freeMiB: 100_000,
  inodes: 1_000_000,
  freeInodes: 900_000,
  filesystem: 0xef53,
  mount: { point: '/', options: ['rw', 'relatime'] },
}

test.each([
  [{}, []],
  [{ freeMiB: 4000 }, [['disk', 'warn']]],
  [{ freeMiB: 1000 }, [['disk', 'fix']]],
  [{ freeInodes: 20_000 }, [['inodes', 'warn']]],
  [{ freeInodes: 100 }, [['inodes', 'fix']]],
  [{ inodes: 0, freeInodes: 0 }, []],
  [{ filesystem: 0x0102_1994 }, [['file system', 'warn']]],
  [{ mount: { point: '/', options: ['ro'] } }, [['mount options', 'fix']]],
  [{ mount: { point: '/', options: ['rw', 'nosuid', 'noexec'] } }, [['mount options', 'fix']]],
] as const)('a disk with %j is reported as: %j', (facts, expected) => {
  const found = checkDisk('/state', { ...disk, ...facts }).filter(({ status }) => status !== 'ok')
  expect(found.map(({ name, status }) => [name, status])).toEqual(expected)
})

test('the fix remounts the mount point of a state directory', () => {
  const facts = { ...disk, mount: { point: '/var', options: ['ro', 'noexec'] } }
  const fixes = checkDisk('/var/lib/holt', facts).flatMap(({ name, fix }) => (name === 'mount options' ? fix : []))
  expect(fixes).toEqual(['mount -o remount,rw /var', 'mount -o remount,exec /var'])
})

test('a path belongs to the deepest mount above it', () => {
  const mounts = [
    '/dev/a / ext4 rw 0 0',
    '/dev/b /var ext4 rw,noexec 0 0',
    '/dev/c /var/lib\\040x ext4 ro 0 0',
    '/dev/d /var/li ext4 nodev 0 0',
  ].join('\n')
  expect(mountOf(mounts, '/home')).toEqual({ point: '/', options: ['rw'] })
  expect(mountOf(mounts, '/var/lib/holt')).toEqual({ point: '/var', options: ['rw', 'noexec'] })
  expect(mountOf(mounts, '/var/lib x/holt')).toEqual({ point: '/var/lib x', options: ['ro'] })
})

test('the disk of a missing directory is the disk of its parent', async () => {
  const dir = await makeDir()
  const facts = await readDiskFacts(join(dir, 'a', 'b'))
  expect(facts.freeMiB).toBeGreaterThan(0)
  expect(facts.sizeMiB).toBeGreaterThanOrEqual(facts.freeMiB)
  expect(facts.mount.options).toContain('rw')
})

test('a state directory must be private and owned by the user; a missing one passes', async () => {
  const dir = await makeDir()
  const status = async (path: string) => (await checkStateDir(path)).status
  expect(await status(dir)).toBe('ok')
  await chmod(dir, 0o755)
  expect(await status(dir)).toBe('fix')
  expect(await status(join(dir, 'a', 'b'))).toBe('ok')
  await writeFile(join(dir, 'file'), '')
  expect(await status(join(dir, 'file'))).toBe('fix')
})

test.skipIf(process.geteuid?.() !== 0)('a state directory of another user fails', async () => {
  const dir = await makeDir()
  await chown(dir, 1000, 1000)
  expect(await checkStateDir(dir)).toMatchObject({ status: 'fix', fix: `chown 0 ${dir}` })
})

test('a store is intact, damaged, of a newer version, or missing', async () => {
  const stateDir = await makeDir()
  const check = () => checkStore({ stateDir, databaseUrl: null })
  expect((await check()).status).toBe('ok')
  const path = join(stateDir, 'holt.db')
  await (await openStore({ type: 'sqlite', path })).close()
  expect(await check()).toMatchObject({ status: 'ok', message: expect.stringMatching(/^whole, schema \d+ of \d+$/) })
  const database = new DatabaseSync(path)
  database.exec('INSERT INTO migrations (version, applied_at) VALUES (9999, 1)')
  database.close()
  expect(await check()).toMatchObject({ status: 'fix', message: expect.stringContaining('newer') })
  await writeFile(path, Buffer.alloc(8192, 7))
  const { status, fix } = await check()
  expect(status).toBe('fix')
  // A daemon that runs is stopped first, and the log goes with the file.
  expect(fix).toMatch(/^holt down && mkdir (\S+) && mv \S+\/holt\.db\* \1 && holt import BACKUP$/)
  // A unit tries again to start over the damaged file, and is not to do so over the new one.
  await writeFile(join(stateDir, 'holtd.pid'), JSON.stringify({ pid: 1, start_time: '0', unit: 'holtd.service' }))
  expect((await check()).fix).toMatch(/^systemctl stop holtd\.service && mkdir /)
})

test('a store that is locked or unreadable is not reported as damaged', async () => {
  const stateDir = await makeDir()
  const path = join(stateDir, 'holt.db')
  // As it is for a moment while the first start makes it.
  await writeFile(path, '')
  expect(await checkStore({ stateDir, databaseUrl: null })).toMatchObject({ status: 'warn', fix: null })
  await (await openStore({ type: 'sqlite', path })).close()
  using database = new DatabaseSync(path)
  database.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE')
  expect(await checkStore({ stateDir, databaseUrl: null })).toMatchObject({
    status: 'warn',
    message: expect.stringContaining('locked'),
    fix: null,
  })
}, 60_000)

test('a database that does not answer is reported without its password', async () => {
  const check = await checkStore({ stateDir: '/nowhere', databaseUrl: 'postgres://holt:canary@127.0.0.1:9/holt' })
  expect(check.status).toBe('fix')
  expect(JSON.stringify(check)).not.toContain('canary')
})

test('master keys must exist beside a store, be intact and be private', async () => {
  const stateDir = await makeDir()
  const path = join(stateDir, 'master-keys.json')
  const status = async () => (await checkMasterKeys({ stateDir, databaseUrl: null })).status
  expect(await status()).toBe('ok')
  await writeFile(join(stateDir, 'holt.db'), '')
  expect(await status()).toBe('fix')
  for (const [text, mode, expected] of [
    ['{"keys": [{}]}', 0o600, 'ok'],
    ['{"keys": [{}]}', 0o644, 'fix'],
    ['{"keys": []}', 0o600, 'fix'],
    ['{"ke', 0o600, 'fix'],
  ] as const) {
    await writeFile(path, text)
    await chmod(path, mode)
    expect(await status()).toBe(expected)
  }
})

test('master keys of the operator may be for the group of the service, and for nobody else', async () => {
  const stateDir = await makeDir()
  const path = join(stateDir, 'given-keys')
  await writeFile(path, '{"keys": [{}]}')
  const statusOf = async (mode: number, masterKeysFile: string | null) => {
    await chmod(path, mode)
    return (await checkMasterKeys({ stateDir, databaseUrl: null, masterKeysFile })).status
  }
  expect(await statusOf(0o440, path)).toBe('ok')
  for (const mode of [0o444, 0o460]) expect([mode, await statusOf(mode, path)]).toEqual([mode, 'fix'])
  await rename(path, join(stateDir, 'master-keys.json'))
  await chmod(join(stateDir, 'master-keys.json'), 0o440)
  expect((await checkMasterKeys({ stateDir, databaseUrl: null })).status).toBe('fix')
})

test('master keys are required with a PostgreSQL store, even if the state directory is empty', async () => {
  const stateDir = await makeDir()
  const away = { stateDir, databaseUrl: 'postgres://holt@127.0.0.1:9/holt' }
  expect((await checkMasterKeys(away)).status).toBe('warn')
  if (!hasPostgres()) return
  await using cluster = await startCluster()
  const there = { stateDir, databaseUrl: cluster.url('postgres') }
  expect((await checkMasterKeys(there)).status).toBe('ok')
  await (await openStore({ type: 'postgres', url: there.databaseUrl })).close()
  expect(await checkMasterKeys(there)).toMatchObject({ status: 'fix', fix: expect.stringContaining('cp BACKUP') })
}, 60_000)

test('empty cgroups of other installations are reported, and those in use are not', async () => {
  const point = await makeDir()
  for (const [group, pids] of [
    ['holt-aaaaaaaa', ''],
    ['holt-aaaaaaaa/rt1', ''],
    ['holt-bbbbbbbb', ''],
    ['holt-bbbbbbbb/rt2', '123\n'],
    ['holt-cccccccc', ''],
    ['holt-dddddddd', ''],
    ['holt-eeeeeeee', ''],
    ['holt-eeeeeeee/rt3', ''],
    ['holt-eeeeeeee/rt3/below', '456\n'],
    ['holt-not-one', ''],
    ['other', ''],
  ] as const) {
    await mkdir(join(point, group), { recursive: true })
    await writeFile(join(point, group, 'cgroup.procs'), pids)
  }
  // A neighbour that runs has none of its own yet, or has just paused the last.
  const sockets = join(await makeDir(), 'unix')
  await writeFile(sockets, 'Num\n0000: 00000002 00000000 00010000 0001 01 1 @holt-installation-dddddddd\n')
  const parts = { stateDir: '/nowhere', installationId: 'cccccccc', hierarchies: [point] }
  const facts = await readLeftovers({ ...parts, sockets })
  expect((await readLeftovers(parts)).emptyCgroups).toContain(join(point, 'holt-dddddddd'))
  expect(facts).toEqual({ emptyCgroups: [join(point, 'holt-aaaaaaaa')], deadLoops: [] })
  expect(checkLeftovers(facts)).toEqual([
    expect.objectContaining({ name: 'leftover cgroups', status: 'warn', fix: expect.stringContaining('rmdir') }),
  ])
})

test('loop devices of deleted disks are reported', () => {
  const check = checkLeftovers({ emptyCgroups: [], deadLoops: ['/dev/loop3'] })
  expect(check).toEqual([expect.objectContaining({ status: 'warn', fix: 'losetup -d /dev/loop3' })])
  expect(checkLeftovers({ emptyCgroups: [], deadLoops: [] })).toEqual([expect.objectContaining({ status: 'ok' })])
})

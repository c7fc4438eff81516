import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { readCredentials, writeCredentials } from '../../../src/foundation/config/credentials.ts'
import {
  findDaemon,
  findUnit,
  releaseLock,
  startCommand,
  stopCommand,
  takeLock,
} from '../../../src/foundation/config/daemon-lock.ts'
import { openInstallation } from '../../../src/foundation/config/installation.ts'
import { mountFullDisk } from '../../support/full-disk.ts'

let dir = ''
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holt-lock-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
})

test('the lock names this process and is removed on release', async () => {
  await takeLock(dir)
  expect((await findDaemon(dir))?.pid).toBe(process.pid)
  await takeLock(dir)
  await releaseLock(dir)
  expect(await findDaemon(dir)).toBeNull()
})

test('a lock of a running process holds; one of an ended process or a reused pid does not', async () => {
  const other = spawn('sleep', ['60'], { stdio: 'ignore' })
  onTestFinished(() => void other.kill('SIGKILL'))
  const text = await readFile(`/proc/${other.pid}/stat`, 'utf8')
  const start_time = text.slice(text.lastIndexOf(')') + 2).split(' ')[19]
  const path = join(dir, 'holtd.pid')
  await writeFile(path, JSON.stringify({ pid: other.pid, start_time }))
  await expect(takeLock(dir)).rejects.toThrow(`process ${other.pid}`)
  await writeFile(path, JSON.stringify({ pid: other.pid, start_time: '1' }))
  expect(await findDaemon(dir)).toBeNull()
  await writeFile(path, JSON.stringify({ pid: other.pid, start_time }))
  const ended = once(other, 'exit')
  other.kill('SIGKILL')
  await ended
  expect(await findDaemon(dir)).toBeNull()
  await takeLock(dir)
})

test('the systemd unit of the daemon is found, even if it failed, with the command that stops it', async () => {
  const path = join(dir, 'holtd.pid')
  expect(stopCommand(await findUnit(dir))).toBe('holt down')
  await writeFile(path, JSON.stringify({ pid: process.pid, start_time: '1', unit: 'holtd.service' }))
  expect(await findDaemon(dir)).toBeNull()
  expect(stopCommand(await findUnit(dir))).toBe('systemctl stop holtd.service')
  expect(startCommand(await findUnit(dir))).toBe('systemctl start holtd.service')
  await takeLock(dir, 'holt-eu.service')
  expect((await findDaemon(dir))?.unit).toBe('holt-eu.service')
  await takeLock(dir)
  expect(stopCommand(await findUnit(dir))).toBe('holt down')
})

/** A file system of its own on which nothing has room. */
async function fullDisk(options: string, before: (disk: string) => Promise<void>): Promise<string> {
  const disk = join(dir, 'disk')
  await mountFullDisk(disk, options, () => before(disk))
  return disk
}

describe.skipIf(process.getuid?.() !== 0)('on a full disk', () => {
  const full = 'size=256k'
  const noInode = 'size=1m,nr_inodes=3'
  const stale = (disk: string) =>
    writeFile(join(disk, 'holtd.pid'), `${JSON.stringify({ pid: 999_999_999 })}${' '.repeat(300)}`)
  const reserve = (disk: string) => writeFile(join(disk, 'holt.db-reserve'), Buffer.alloc(2 ** 16))

  test.each([
    ['the lock of a daemon that died is written over', full, stale],
    ['the lock of a daemon that died is written over without an inode', noInode, stale],
    ['the reserve is given up', full, reserve],
    ['the reserve is given up for its inode', noInode, reserve],
  ] as const)('%s', async (_, options, before) => {
    const disk = await fullDisk(options, before)
    await takeLock(disk)
    expect((await findDaemon(disk))?.pid).toBe(process.pid)
    await releaseLock(disk)
  })

  test('without either directory, it says what to do and leaves nothing', async () => {
    const disk = await fullDisk(full, async () => {})
    await expect(takeLock(disk)).rejects.toThrow(`the file system of ${disk} is full`)
    expect(await readdir(disk)).toEqual(['rest'])
  })
})

test('a lock of a zombie process does not hold', async () => {
  // The shell becomes a program that does not wait for children. Its child ends only afterwards.
  const stdio = ['pipe', 'pipe', 'ignore'] as const
  const parent = spawn('sh', ['-c', 'exec 3<&0; cat <&3 & echo $!; exec sleep 60'], { stdio: [...stdio] })
  onTestFinished(() => void parent.kill('SIGKILL'))
  const [line] = await once(parent.stdout, 'data')
  const pid = Number(String(line).trim())
  const program = () => readFile(`/proc/${parent.pid}/comm`, 'utf8')
  await expect.poll(program, { timeout: 20_000 }).toBe('sleep\n')
  parent.stdin.end()
  const stat = async () => (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? []
  await expect.poll(async () => (await stat())[0], { timeout: 20_000 }).toBe('Z')
  await writeFile(join(dir, 'holtd.pid'), JSON.stringify({ pid, start_time: (await stat())[19] }))
  expect(await findDaemon(dir)).toBeNull()
})

test.each(['', '{', '[]', '{"pid": -1, "start_time": "1"}', '{"pid": "x"}'])(
  'a lock file with %j does not hold',
  async (text) => {
    await writeFile(join(dir, 'holtd.pid'), text)
    expect(await findDaemon(dir)).toBeNull()
  },
)

test('an installation keeps its id, and its directory is private', async () => {
  const id = await openInstallation(join(dir, 'state'))
  expect(id).toMatch(/^[a-z0-9]{8}$/)
  expect(await openInstallation(join(dir, 'state'))).toBe(id)
  expect((await stat(join(dir, 'state'))).mode & 0o777).toBe(0o700)
})

test('credentials are private, written on change, and replaced if they are unreadable', async () => {
  await writeCredentials(dir, { url: 'http://127.0.0.1:1', key: 'holt_a' })
  const path = join(dir, 'credentials.json')
  const first = await stat(path)
  expect(first.mode & 0o777).toBe(0o600)
  await writeCredentials(dir, { url: 'http://127.0.0.1:1', key: 'holt_a' })
  expect((await stat(path)).ino).toBe(first.ino)
  await writeFile(path, 'nonsense')
  expect(await readCredentials(dir)).toBeNull()
  await writeCredentials(dir, { url: 'http://127.0.0.1:2', key: 'holt_b' })
  expect(await readCredentials(dir)).toEqual({ url: 'http://127.0.0.1:2', key: 'holt_b' })
})

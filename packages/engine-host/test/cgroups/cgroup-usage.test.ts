import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readCgroupUsage, usageFilesOf } from '../../src/cgroups/cgroup-usage.ts'
import type { CgroupHost } from '../../src/cgroups/detect-cgroups.ts'

/** A tree of cgroups in which one group has these files. */
async function treeOf(files: Readonly<Record<string, string>>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-cgroups-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(dir, path, '..'), { recursive: true })
    await writeFile(join(dir, path), text)
  }
  return dir
}

const hostOf = (version: CgroupHost['version'], controllers: Readonly<Record<string, string>>): CgroupHost => ({
  version,
  controllers: new Map(Object.entries(controllers)),
  hierarchies: [],
})

const expected = { cpuUsec: 1_234_567, memoryBytes: 3 * 4096, processes: 2 }

test('version 1: nanoseconds of cpuacct, memory without the page cache', async () => {
  const dir = await treeOf({
    'cpuacct/p/rt/cpuacct.usage': '1234567890\n',
    'memory/p/rt/memory.stat': 'cache 99999\nrss 8192\nshmem 4096\ntotal_rss 77777\n',
    'memory/p/rt/cgroup.procs': '12\n13\n',
  })
  const host = hostOf('v1', { memory: join(dir, 'memory'), cpuacct: join(dir, 'cpuacct'), cpu: join(dir, 'cpu') })
  const files = usageFilesOf(host)
  expect(files && readCgroupUsage(files, '/p/rt')).toEqual(expected)
})

test('version 2: microseconds of cpu.stat', async () => {
  const dir = await treeOf({
    'p/rt/cpu.stat': 'usage_usec 1234567\nuser_usec 1\nsystem_usec 2\n',
    'p/rt/memory.stat': 'anon 8192\nfile 99999\nshmem 4096\n',
    'p/rt/cgroup.procs': '12\n13\n',
  })
  const files = usageFilesOf(hostOf('v2', { memory: dir, cpu: dir }))
  expect(files && readCgroupUsage(files, '/p/rt')).toEqual(expected)
})

test('a missing group is reported as gone', async () => {
  const dir = await treeOf({ 'p/other/cpu.stat': '' })
  const files = usageFilesOf(hostOf('v2', { memory: dir, cpu: dir }))
  expect(() => files && readCgroupUsage(files, '/p/rt')).toThrow(expect.objectContaining({ kind: 'gone' }))
})

test.each([
  ['no memory', hostOf('v2', { cpu: '/c' })],
  ['no processor time', hostOf('v1', { memory: '/m', cpu: '/c' })],
  ['nothing', hostOf('none', {})],
])('a host that accounts for %s reports nothing', (_, host) => {
  expect(usageFilesOf(host)).toBeNull()
})

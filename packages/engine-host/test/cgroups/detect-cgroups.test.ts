import { expect, test } from 'vitest'
import { cgroupHostOf } from '../../src/cgroups/detect-cgroups.ts'
import { parseMemoryInUse, parseOomKills } from '../../src/cgroups/runtime-cgroup.ts'
import { parseMountInfo } from '../../src/mounts/mount-table.ts'

const V1 = `30 20 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755
31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct
32 30 0:28 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory
33 30 0:29 / /sys/fs/cgroup/pids rw,nosuid - cgroup cgroup rw,pids
34 30 0:30 / /sys/fs/cgroup/systemd rw,nosuid - cgroup cgroup rw,xattr,name=systemd
`
const V2 = '31 20 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n'
const HYBRID = `${V1}35 30 0:31 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw\n`

test.each([
  { version: 'v1', text: V1, controllers: [], cpu: '/sys/fs/cgroup/cpu,cpuacct', hierarchies: 4 },
  { version: 'v2', text: V2, controllers: ['cpu', 'memory', 'pids', 'io'], cpu: '/sys/fs/cgroup', hierarchies: 1 },
  { version: 'hybrid', text: HYBRID, controllers: [], cpu: '/sys/fs/cgroup/cpu,cpuacct', hierarchies: 5 },
])('detects a $version host', ({ version, text, controllers, cpu, hierarchies }) => {
  const host = cgroupHostOf(parseMountInfo(text), () => controllers)
  expect(host.version).toBe(version)
  expect(host.controllers.get('cpu')).toBe(cpu)
  expect(host.controllers.get('memory')).toBeDefined()
  expect(host.hierarchies).toHaveLength(hierarchies)
})

test('detects a host without cgroups, and a version 2 tree without the memory controller', () => {
  expect(cgroupHostOf([], () => []).version).toBe('none')
  expect(cgroupHostOf(parseMountInfo(V2), () => ['cpu']).controllers.has('memory')).toBe(false)
})

test.each([
  ['oom_kill_disable 0\nunder_oom 0\noom_kill 3\n', 3],
  ['low 0\nhigh 0\nmax 12\noom 2\noom_kill 1\noom_group_kill 0\n', 1],
  ['', 0],
])('counts the kills in %j', (text, kills) => {
  expect(parseOomKills(text)).toBe(kills)
})

test.each([
  ['cache 99\nrss 5\nrss_huge 3\nshmem 7\nmapped_file 2\ntotal_rss 5\ntotal_shmem 7\n', 12],
  ['anon 5\nfile 20\nshmem 7\nfile_mapped 1\n', 12],
  ['', 0],
])('adds up the memory in %j', (text, bytes) => {
  expect(parseMemoryInUse(text)).toBe(bytes)
})

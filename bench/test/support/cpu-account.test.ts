import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { cpuHierarchyOf, descendantsOf, ownGroupOf, parseCpuMs } from '../../support/cpu-account.ts'

const v1 =
  '30 25 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n32 30 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n'
const v2 = '30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n'

describe('the account of CPU time', () => {
  it.each([
    ['version 1, also in a hybrid', v1, { version: 1, mountPoint: '/sys/fs/cgroup/cpu,cpuacct' }],
    ['version 2', v2, { version: 2, mountPoint: '/sys/fs/cgroup' }],
    ['none', '30 25 0:26 / / rw - ext4 /dev/vda rw\n', null],
  ])('finds the hierarchy: %s', (_, mountinfo, found) => {
    expect(cpuHierarchyOf(mountinfo)).toEqual(found)
  })

  it('reads nanoseconds of version 1 and microseconds of version 2', () => {
    expect(parseCpuMs(1, '1500000\n')).toBe(1.5)
    expect(parseCpuMs(2, 'usage_usec 2500\nuser_usec 1\n')).toBe(2.5)
  })

  it('finds the cgroup of a process', () => {
    const text = '9:name=systemd:/\n2:cpu,cpuacct:/a/b\n0::/c:d\n'
    expect([ownGroupOf(text, 1), ownGroupOf(text, 2)]).toEqual(['/a/b', '/c:d'])
  })
})

describe('the processes below a process', () => {
  it('are its children and their children', async () => {
    const child = spawn('/bin/sh', ['-c', 'sleep 60 & echo; wait'], { stdio: ['ignore', 'pipe', 'ignore'] })
    await new Promise((resolve) => child.stdout.once('data', resolve))
    const found = descendantsOf(process.pid)
    expect(found).toContain(child.pid)
    const below = descendantsOf(child.pid ?? 0)
    expect(below).toHaveLength(1)
    expect(found).toContain(below[0])
    for (const pid of below) process.kill(pid, 'SIGKILL')
    await once(child, 'exit')
    expect(descendantsOf(child.pid ?? 0)).toEqual([])
  })
})

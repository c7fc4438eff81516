import { describe, expect, it } from 'vitest'
import { memoryHierarchyOf, parseMemoryBytes, readProportionalBytes } from '../../support/memory-account.ts'

describe('memory of a group', () => {
  it('is anonymous or shared memory, including that of groups below, without the page cache', () => {
    const first = 'cache 9000\nrss 1\nshmem 2\ntotal_cache 9000\ntotal_rss 100\ntotal_rss_huge 50\ntotal_shmem 20\n'
    expect(parseMemoryBytes(1, first)).toBe(120)
    expect(parseMemoryBytes(2, 'anon 100\nfile 5000\nshmem 20\nanon_thp 64\n')).toBe(120)
  })

  it('is not a number if the kernel does not report it', () => {
    expect(parseMemoryBytes(2, 'file 5000\n')).toBeNaN()
  })
})

describe('the hierarchy of memory', () => {
  const first = '30 25 0:26 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory'
  const second = '31 25 0:27 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw'

  it('is the first version if that has the controller', () => {
    expect(memoryHierarchyOf(`${second}\n${first}\n`)).toEqual({ version: 1, mountPoint: '/sys/fs/cgroup/memory' })
    expect(memoryHierarchyOf(second)).toEqual({ version: 2, mountPoint: '/sys/fs/cgroup/unified' })
    expect(memoryHierarchyOf('')).toBeNull()
  })
})

describe('memory of a process', () => {
  it('is more than zero', () => {
    expect(readProportionalBytes(process.pid)).toBeGreaterThan(2 ** 20)
  })
})

import { randomBytes } from 'node:crypto'
import { FileInfo } from '@holt/protocol'
import { beforeAll, expect, it, vi } from 'vitest'
import { failure, success } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { describeTrees } from './support/describe-trees.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'

// Writes until the disk refuses, and reports the size. The content of /srv/reserve is freed
// afterwards.
const fill = `
import errno, json, os
fd = os.open('/srv/fill', os.O_WRONLY | os.O_CREAT)
block = os.urandom(1 << 20)
total = 0
refused = None
while refused is None:
    try: total += os.write(fd, block)
    except OSError as error: refused = errno.errorcode[error.errno]
print(json.dumps({'bytes': total, 'refused': refused}))`

const MiB = 2 ** 20

/** The size of a runtime's disk and what is free of it, in MiB, as `df` says. */
async function disk(runtime: TestRuntime): Promise<{ readonly size: number; readonly free: number }> {
  const [size = Number.NaN, free = Number.NaN] = (await runtime.sh('df -BM --output=size,avail / | tail -n 1'))
    .split('M')
    .map(Number)
  return { size, free }
}

describeClasses('on a full disk', (isolation) => {
  let runtime: TestRuntime
  let filled: { readonly bytes: number; readonly refused: string }
  let whenFull: Awaited<ReturnType<typeof disk>>
  beforeAll(async () => {
    runtime = await createRuntime({ isolation })
    await runtime.sh(
      'mkdir -p /srv/tree; cd /srv/tree; for n in $(seq 10); do head -c 4M /dev/urandom > $n; done; head -c 24M /dev/urandom > /srv/reserve',
    )
    await runtime.sh('head -c 40M /dev/urandom > /srv/big; echo old > /srv/old; truncate -s 2G /srv/hollow')
    filled = await runtime.python(fill, [], { timeout_secs: 110 })
    whenFull = await disk(runtime)
    await runtime.sh('rm /srv/reserve')
  })

  it('a write ends with ENOSPC at the promised size', () => {
    expect(filled.refused).toBe('ENOSPC')
    const total = filled.bytes / MiB + 24 + 80
    expect(total).toBeLessThanOrEqual(runtime.data.disk_mib)
    expect(total).toBeGreaterThan(runtime.data.disk_mib * 0.9)
  })

  it('df shows the promised size, and no free space', async () => {
    expect(whenFull.size).toBeLessThanOrEqual(runtime.data.disk_mib)
    expect(whenFull.size).toBeGreaterThan(runtime.data.disk_mib * 0.9)
    expect(whenFull.free).toBeLessThan(8)
    // gVisor gives the space of a removed file back in the background.
    await vi.waitUntil(async () => (await disk(runtime)).free > 16, { timeout: 20_000 })
  })

  it('df shows the size of a larger disk', async () => {
    await using larger = await createRuntime({ isolation, disk: 6 })
    const { size, free } = await disk(larger)
    expect(size).toBeLessThanOrEqual(6 * 1024)
    expect(Math.min(size, free)).toBeGreaterThan(6 * 1024 * 0.9)
  })

  it.each([
    { name: 'a file', source: '/srv/big', destination: '/srv/new', overwrite: false },
    { name: 'a file over another', source: '/srv/big', destination: '/srv/old', overwrite: true },
    { name: 'a tree', source: '/srv/tree', destination: '/srv/new', overwrite: false },
    { name: 'a tree over a file', source: '/srv/tree', destination: '/srv/old', overwrite: true },
    { name: 'a tree below missing parents', source: '/srv/tree', destination: '/srv/new/parent/d', overwrite: false },
  ])('a copy of $name fails, changes nothing and frees its space', async ({ source, destination, overwrite }) => {
    const before = await runtime.sh('ls -A /srv')
    failure(await runtime.copy({ source, destination, recursive: true, overwrite }), 'disk_full')
    expect(await runtime.sh('cat /srv/old; ls -A /srv')).toBe(`old\n${before}`)
    // It fits again: nothing of the failed copy holds space.
    await runtime.sh('head -c 16M /dev/urandom > /srv/probe; rm /srv/probe')
  })

  it('a copy of holes uses no space', async () => {
    await runtime.copied({ source: '/srv/hollow', destination: '/srv/hollow-copy' })
    expect(await runtime.sh('stat -c %s /srv/hollow-copy; rm /srv/hollow-copy')).toBe(String(2 ** 31))
  })

  it('a write fails, and the old content stays', async () => {
    const body = randomBytes(40 * MiB)
    failure(await runtime.call('PUT', '/files/content', { query: { path: '/srv/old' }, body }), 'disk_full')
    failure(await runtime.call('PUT', '/files/content', { query: { path: '/srv/new/file' }, body }), 'disk_full')
    expect(await runtime.sh('cat /srv/old; test ! -e /srv/new/file')).toBe('old')
  })

  it('commands, reads and small writes continue', async () => {
    expect(await runtime.sh('echo still here')).toBe('still here')
    expect((await runtime.call('GET', '/files/content', { query: { path: '/srv/tree/1' } })).bytes).toHaveLength(
      4 * MiB,
    )
    success(
      await runtime.call('PUT', '/files/content', { query: { path: '/srv/small' }, body: 'small' }),
      201,
      FileInfo,
    )
  })

  it('a removal makes room for a copy', async () => {
    await runtime.sh('truncate -s 1G /srv/fill')
    await runtime.copied({ source: '/srv/tree', destination: '/srv/new', recursive: true })
    const [source, copy] = await describeTrees(runtime, '/srv/tree', '/srv/new')
    expect(copy).toEqual(source)
  })
})

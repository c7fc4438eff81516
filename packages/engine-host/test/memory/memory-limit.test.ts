import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { memoryLimitAt } from '../../src/memory/memory-limit.ts'
import { temporaryDirectory } from '../support/test-machine.ts'

const mib = 2 ** 20
const limitBytes = 512 * mib

/** A directory with a cgroup's files in it, and the limit of that cgroup. */
async function cgroupOf(version: 'v1' | 'v2', files: Readonly<Record<string, number | string>>) {
  const dir = await temporaryDirectory()
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir.path, name), `${text}\n`)
  const read = async (name: string) => (await readFile(join(dir.path, name), 'utf8')).trim()
  return { dir, limit: memoryLimitAt(dir.path, version, limitBytes), read }
}

test('sets the enforced limit of version 1 above the requested one, and raises it once', async () => {
  const { dir, limit, read } = await cgroupOf('v1', {
    'memory.limit_in_bytes': limitBytes,
    'memory.memsw.limit_in_bytes': limitBytes,
    'memory.usage_in_bytes': 24 * mib,
    'memory.stat': `inactive_file 0\nactive_file 0\ntotal_inactive_file ${4 * mib}\ntotal_active_file ${3 * mib}`,
    'memory.oom_control': 'oom_kill_disable 0\nunder_oom 1\noom_kill 0',
  })
  await using _ = dir
  expect(limit.thresholds[0]).toBe(limitBytes)
  expect(await limit.used()).toBe(17 * mib)
  expect(await limit.isStuck()).toBe(true)
  const enforced = async () =>
    (await Promise.all(['memory.limit_in_bytes', 'memory.memsw.limit_in_bytes'].map(read))).map(
      (text) => Number(text) / mib,
    )
  await limit.enforce()
  expect(await enforced()).toEqual([768, 768])
  expect(await read('memory.oom_control')).toBe('1')
  expect(await limit.isStuck()).toBe(false)
  expect([await limit.raise(), await enforced()]).toEqual([true, [1024, 1024]])
  expect([await limit.raise(), await enforced()]).toEqual([false, [1024, 1024]])
  await limit.enforce()
  expect(await enforced()).toEqual([768, 768])
})

test('works without a swap limit if the kernel has none', async () => {
  const { dir, limit, read } = await cgroupOf('v1', { 'memory.limit_in_bytes': limitBytes, 'memory.oom_control': '' })
  await using _ = dir
  await limit.enforce()
  expect(await read('memory.limit_in_bytes')).toBe(String(768 * mib))
})

test('throttles a version 2 runtime at the limit, and kills above it', async () => {
  const { dir, limit, read } = await cgroupOf('v2', {
    'memory.high': 'max',
    'memory.max': limitBytes,
    'memory.current': 600 * mib,
    'memory.stat': `anon ${500 * mib}\ninactive_file ${60 * mib}\nactive_file ${40 * mib}`,
  })
  await using _ = dir
  await limit.enforce()
  expect([await read('memory.high'), await read('memory.max')]).toEqual([String(limitBytes), String(768 * mib)])
  expect([await limit.used(), await limit.isStuck(), await limit.raise()]).toEqual([500 * mib, false, false])
})

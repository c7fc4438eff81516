import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findMissingLimit } from '../../src/cgroups/check-limits.ts'

test('a controller that needs a boot is explained in words, and a missing directory by a command', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'holt-limits-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  await writeFile(join(dir, 'memory.memsw.limit_in_bytes'), '')
  const host = (controllers: Readonly<Record<string, string>>) => ({
    version: 'v1' as const,
    controllers: new Map(Object.entries(controllers)),
    hierarchies: [],
  })
  expect(await findMissingLimit(host({}))).toMatchObject({
    reason: expect.stringContaining('boot the kernel with it'),
    fix: null,
  })
  const all = { cpu: dir, memory: dir, pids: dir }
  expect(await findMissingLimit(host(all))).toBeNull()
  expect(await findMissingLimit(host({ ...all, cpu: '/nowhere', memory: '/nowhere', pids: '/nowhere' }))).toMatchObject(
    {
      fix: 'mount -o remount,rw /nowhere',
    },
  )
})

import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CgroupFreezer, findFreezer } from '../../src/cgroups/cgroup-freezer.ts'
import type { CgroupHost } from '../../src/cgroups/detect-cgroups.ts'
import { temporaryDirectory } from '../support/test-machine.ts'

test('finds the freezer of version 1 and of version 2, and none if it is absent', async () => {
  await using dir = await temporaryDirectory()
  const host = (change: Partial<CgroupHost>): CgroupHost => ({
    version: 'hybrid',
    controllers: new Map([['memory', dir.path]]),
    hierarchies: [dir.path],
    ...change,
  })
  const freezer = new Map([['freezer', dir.path]])
  expect(await findFreezer(host({ controllers: freezer }))).toEqual({ point: dir.path, version: 'v1' })
  expect(await findFreezer(host({ version: 'v2' }))).toEqual({ point: dir.path, version: 'v2' })
  expect(await findFreezer(host({}))).toBeNull()
  expect(await findFreezer(host({ version: 'none', hierarchies: [] }))).toBeNull()
  expect(await findFreezer(host({ controllers: new Map([['freezer', join(dir.path, 'absent')]]) }))).toBeNull()
})

// Directories that look as those of the kernel do when it is done.
test.each([
  { version: 'v1', control: 'freezer.state', frozen: 'FROZEN', state: 'freezer.state', says: null },
  { version: 'v2', control: 'cgroup.freeze', frozen: '1', state: 'cgroup.events', says: 'populated 1\nfrozen 1\n' },
] as const)('freezes as $version requires', async ({ version, control, frozen, state, says }) => {
  await using dir = await temporaryDirectory()
  await mkdir(join(dir.path, 'a'))
  const freezer = new CgroupFreezer({ point: dir.path, version }, '/a')
  expect(await freezer.isFrozen()).toBe(false)
  if (says !== null) await writeFile(join(dir.path, 'a', state), says)
  await freezer.freeze()
  expect(await readFile(join(dir.path, 'a', control), 'utf8')).toBe(frozen)
  expect(await freezer.isFrozen()).toBe(true)
})

test('reports a missing cgroup, and has nothing to release then', async () => {
  await using dir = await temporaryDirectory()
  const freezer = new CgroupFreezer({ point: dir.path, version: 'v1' }, '/a')
  await expect(freezer.freeze()).rejects.toMatchObject({ kind: 'gone' })
  await expect(freezer.thaw()).rejects.toMatchObject({ kind: 'gone' })
  await freezer.release()
  expect(await freezer.isFrozen()).toBe(false)
})

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findInstallation, openHostId, openInstallation } from '../../../src/foundation/config/installation.ts'

async function newDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-installation-test-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return dir
}

test('the host keeps its id, beside that of the installation', async () => {
  const dir = await newDir()
  const id = await openInstallation(dir)
  const hostId = await openHostId(dir)
  expect(hostId).toMatch(/^ho[a-z0-9]{20}$/)
  expect([await openHostId(dir), await openInstallation(dir)]).toEqual([hostId, id])
  expect(JSON.parse(await readFile(join(dir, 'installation.json'), 'utf8'))).toEqual({ id, host_id: hostId })
})

test('an installation of an earlier version gets a host id', async () => {
  const dir = await newDir()
  await writeFile(join(dir, 'installation.json'), '{"id":"abcdefgh"}\n')
  const hostId = await openHostId(dir)
  expect(await findInstallation(dir)).toBe('abcdefgh')
  expect(await openHostId(dir)).toBe(hostId)
})

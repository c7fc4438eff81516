import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { layoutOf } from '../../src/installation/layout.ts'
import { temporaryDirectory } from '../support/test-machine.ts'

// The module reads the setting when it is loaded.
process.env.HOLT_FAILPOINTS = 'host.checkpoint-unnamed=error@1'
const { HostCheckpoints } = await import('../../src/checkpoints/host-checkpoints.ts')

const maker = {
  runner: 'runsc 1',
  platform: 'systrap',
  arch: 'x64',
  cpuFeatures: 'a'.repeat(64),
  guest: 'b'.repeat(64),
}

test('a checkpoint whose removal fails half way is removed soon', async () => {
  await using dir = await temporaryDirectory()
  const layout = layoutOf(dir.path, '/run/x')
  for (const id of ['cp1', 'cp2']) {
    await mkdir(layout.checkpoint(id), { recursive: true })
    await writeFile(`${layout.checkpoint(id)}/pages.img`, 'memory')
  }
  const checkpoints = new HostCheckpoints(layout, maker, async () => true)
  await expect(checkpoints.remove('cp1')).rejects.toThrow('armed')
  expect((await readdir(layout.checkpoints)).sort()).toEqual([expect.stringMatching(/^\.tmp-/), 'cp2'])
  await expect.poll(() => readdir(layout.checkpoints)).toEqual(['cp2'])
  await checkpoints.remove('cp2')
  expect(await readdir(layout.checkpoints)).toEqual([])
})

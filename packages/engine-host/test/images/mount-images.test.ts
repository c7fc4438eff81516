import { execFileSync, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { detachLeftDevices } from '../../src/images/mount-images.ts'
import { missing } from '../support/test-machine.ts'

const reason = await missing('root')

const devicesOf = (file: string) => execFileSync('losetup', ['--associated', file], { encoding: 'utf8' })

test.skipIf(reason !== null)(
  `detaches a device that a tool of a killed daemon attaches late (${reason ?? 'ready'})`,
  async () => {
    const dir = await mkdtemp(join(tmpdir(), 'holt-devices-'))
    const file = join(dir, 'image')
    await writeFile(file, Buffer.alloc(65_536))
    const attach = 'sleep 1; exec losetup --find --read-only -- "$1"'
    const late = spawn('sh', ['-c', attach, 'losetup', file], { stdio: 'ignore' })
    const { promise: ended, resolve } = Promise.withResolvers<number | null>()
    late.once('exit', resolve)
    try {
      await detachLeftDevices(dir)
      expect(await ended).toBe(0)
      // The kernel lets go of a device a moment after it is detached.
      await expect.poll(() => devicesOf(file)).toBe('')
    } finally {
      await ended
      const [device] = devicesOf(file).split(':')
      if (device !== undefined && device !== '') execFileSync('losetup', ['--detach', device])
      await rm(dir, { recursive: true, force: true })
    }
  },
)

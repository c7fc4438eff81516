import { statfs } from 'node:fs/promises'
import type { Checkpoints, Engine, RuntimeId, RuntimeSpec } from '@holt/engine'
import { GuestClient } from '@holt/guest-client'
import { makeId } from '@holt/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { layoutOf } from '../../src/installation/layout.ts'
import { copyPrograms } from '../support/copy-programs.ts'
import {
  type EngineUnderTest,
  importImage,
  prepareEngine,
  runCommand,
  smallSpec,
  startGuest,
  timeout,
  VERB_TIMEOUT_MS,
} from '../support/engine-under-test.ts'
import { missing } from '../support/test-machine.ts'

const MIB = 2 ** 20

/** The smallest part of a disk that is not ext4's own: its journal and its tables of inodes. */
const usable = 0.8

/** Linux frees the blocks of a removed file in the background. */
const pollTimeout = { timeout: VERB_TIMEOUT_MS / 2 }

const reason = await missing('root', 'go', 'runsc')
describe.skipIf(reason !== null)(`statfs in gVisor (${reason ?? 'ready'})`, { timeout: VERB_TIMEOUT_MS * 2 }, () => {
  let under: EngineUnderTest
  let engine: Engine
  let checkpoints: Checkpoints
  let small: RuntimeSpec
  beforeAll(async () => {
    under = await prepareEngine()
    await copyPrograms(under.tree, 'stat', 'dd', 'rm')
    engine = await under.open()
    checkpoints = engine.ability('checkpoints') as Checkpoints
    small = smallSpec('gvisor', await importImage(engine, under))
  }, VERB_TIMEOUT_MS * 2)
  afterAll(async () => {
    for (const { checkpointId } of await checkpoints.list()) await checkpoints.remove(checkpointId)
    await engine.close()
    expect(await under.leaks()).toEqual([])
    await under[Symbol.asyncDispose]()
  }, VERB_TIMEOUT_MS)

  /**
   * Expects that the runtime is told what the host's kernel says of its disk, and that this is what
   * was promised.
   */
  async function expectTruth(guest: GuestClient, { id, diskMiB }: RuntimeSpec): Promise<void> {
    const { diskMount } = layoutOf(under.options.stateDir, under.options.runDir).runtime(id)
    await expect
      .poll(async () => {
        const { bsize, blocks, bfree, bavail } = await statfs(diskMount)
        const told = await inside(guest, '/')
        return told.join() === [bsize, blocks, bfree, bavail].join() ? 'the same' : `${told}, not ${blocks} ${bavail}`
      }, pollTimeout)
      .toBe('the same')
    const [size, blocks] = await inside(guest, '/')
    expect((size * blocks) / MIB).toBeLessThanOrEqual(diskMiB)
    expect((size * blocks) / MIB).toBeGreaterThan(diskMiB * usable)
  }

  async function freeMiB(guest: GuestClient): Promise<number> {
    const [size, , , available] = await inside(guest, '/')
    return (size * available) / MIB
  }

  async function copyOf(spec: RuntimeSpec, checkpointId: string, id: RuntimeId, diskMiB: number) {
    const copy = { ...spec, id, diskMiB, checkpointId, restoreOnly: true }
    await engine.ensure(copy, timeout())
    return { spec: copy, guest: new GuestClient(await engine.dial(id, timeout())) }
  }

  test('is correct after a boot, growth, a restore, and a fork with a larger disk', async () => {
    const guest = await startGuest(engine, small)
    await expectTruth(guest, small)
    if (engine.ability('disks')?.canGrow === true) {
      await engine.ability('disks')?.grow(small.id, 128, timeout())
      await expectTruth(guest, { ...small, diskMiB: 128 })
    }
    const grown = { ...small, diskMiB: 128 }
    const [forked, paused] = [makeId('runtime'), makeId('runtime')]
    await guest.quiesce(timeout())
    await checkpoints.take(small.id, forked, timeout(), { leaveRunning: true })
    const again = new GuestClient(await engine.dial(small.id, timeout()))
    const fork = await copyOf(grown, forked, makeId('runtime'), 256)
    await expectTruth(fork.guest, fork.spec)
    await fill(fork.guest, 160)
    await expectTruth(fork.guest, fork.spec)
    await engine.remove(fork.spec.id, timeout())
    await again.quiesce(timeout())
    await checkpoints.take(small.id, paused, timeout(), { leaveRunning: false })
    const resumed = await copyOf(grown, paused, small.id, 128)
    await expectTruth(resumed.guest, resumed.spec)
    await engine.remove(small.id, timeout())
  })

  test('counts writes and removals, until the disk is full and writes fail', async () => {
    const spec = { ...small, id: makeId('runtime') }
    const guest = await startGuest(engine, spec)
    const before = await freeMiB(guest)
    await fill(guest, 16)
    expect(before - (await freeMiB(guest))).toBeGreaterThanOrEqual(16)
    await runCommand(guest, 'rm', '/filled')
    await expect.poll(async () => before - (await freeMiB(guest)), pollTimeout).toBeLessThan(4)
    const full = await runCommand(guest, 'dd', 'if=/dev/urandom', 'of=/filled', 'bs=1M', 'count=100')
    expect(full).toMatchObject({ exitCode: 1, output: expect.stringContaining('No space left on device') })
    await expectTruth(guest, spec)
    expect(await freeMiB(guest)).toBeLessThan(4)
    await engine.remove(spec.id, timeout())
  })

  test('shows the own size of a tmpfs', async () => {
    const spec = { ...small, id: makeId('runtime') }
    const guest = await startGuest(engine, spec)
    const [size, blocks] = await inside(guest, '/dev/shm')
    expect((size * blocks) / MIB).toBe(spec.memoryMiB / 2)
    await engine.remove(spec.id, timeout())
  })
})

/** The bytes of a block, all blocks, the free ones, and those that a user may take. */
async function inside(guest: GuestClient, path: string): Promise<[number, number, number, number]> {
  const { output } = await runCommand(guest, 'stat', '-f', '-c', '%S %b %f %a', path)
  return output.split(' ').map(Number) as [number, number, number, number]
}

async function fill(guest: GuestClient, mib: number): Promise<void> {
  const written = await runCommand(guest, 'dd', 'if=/dev/urandom', 'of=/filled', 'bs=1M', `count=${mib}`)
  expect(written).toMatchObject({ exitCode: 0 })
}
